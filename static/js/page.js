// What every page runs. Without it the page is whole, only not live.
import { startLive } from "./live.js";
import { startThemes } from "./themes.js";
import { startClocks } from "./clocks.js";

startThemes(document);
startClocks(document);
startLive(document, window);

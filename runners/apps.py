from django.apps import AppConfig


class RunnersConfig(AppConfig):
    name = "runners"

    def ready(self) -> None:
        from runners.receivers import wake_queue
        from submissions.signals import run_queued

        run_queued.connect(wake_queue, dispatch_uid="runners.wake_queue")

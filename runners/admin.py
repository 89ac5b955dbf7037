"""Admin of the fleet: rows are read-only, since runners register themselves; an operator acts by verbs."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from runners.models import Lease, Runner
from runners.operations import OPERATIONS, operate


class LeaseInline(admin.TabularInline):  # type: ignore[type-arg]
    """A runner's last leases, as they were."""

    model = Lease
    fields = readonly_fields = ("run", "epoch", "is_live", "claimed_at", "ends_at", "ended_at", "end_reason")
    extra = 0
    max_num = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Runner)
class RunnerAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The fleet, with what an operator may do to it."""

    list_display = ("name", "kind", "state", "is_there", "device", "isolation", "infra_failures", "last_seen_at")
    list_filter = ("state", "kind", "isolation")
    search_fields = ("name", "device")
    inlines = (LeaseInline,)
    actions = ("pause", "resume", "clear_quarantine", "retire")

    @admin.display(boolean=True, description="alive")
    def is_there(self, runner: Runner) -> bool:
        return runner.is_alive

    @admin.action(description="Pause: finish the run, take no other", permissions=["change"])
    def pause(self, request: HttpRequest, runners: QuerySet[Runner]) -> None:
        self._operate(request, runners, "pause")

    @admin.action(description="Resume paused runners", permissions=["change"])
    def resume(self, request: HttpRequest, runners: QuerySet[Runner]) -> None:
        self._operate(request, runners, "resume")

    @admin.action(description="Release from quarantine", permissions=["change"])
    def clear_quarantine(self, request: HttpRequest, runners: QuerySet[Runner]) -> None:
        self._operate(request, runners, "clear_quarantine")

    @admin.action(description="Retire for good", permissions=["change"])
    def retire(self, request: HttpRequest, runners: QuerySet[Runner]) -> None:
        self._operate(request, runners, "retire")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Runner | None = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Runner | None = None) -> list[str]:
        return [field.name for field in Runner._meta.fields]

    def _operate(self, request: HttpRequest, runners: QuerySet[Runner], verb: str) -> None:
        operation = OPERATIONS[verb]
        for runner in runners:
            if operate(runner.pk, verb, request.user.get_username()):
                self.log_change(request, runner, operation.told_as)
                self.message_user(request, f"Runner {runner.name} {operation.effect}.")
            else:
                wrong = f"Runner {runner.name} is not {_in_words(operation.olds)}: nothing was changed."
                self.message_user(request, wrong, messages.WARNING)


def _in_words(states: frozenset[Any]) -> str:
    return " or ".join(sorted(str(state.value) for state in states))

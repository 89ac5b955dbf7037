"""The mirror in the admin: to look at. Rows follow git, so a change here would be undone by the next commit."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from leaderboard.models import BenchPoint, Kernel, MirrorState, Problem

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(_ModelAdmin):
    """Shows rows that only the mirror writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Problem)
class ProblemAdmin(ReadOnlyAdmin):
    list_display = ["problem_id", "version", "title"]
    search_fields = ["problem_id", "title"]


@admin.register(Kernel)
class KernelAdmin(ReadOnlyAdmin):
    list_display = ["kernel_id", "status", "rank", "speedup", "submitter", "device", "accepted_at"]
    list_filter = ["arch", "status", "evidence", "language"]
    search_fields = ["kernel_id", "title", "submitter"]


@admin.register(BenchPoint)
class BenchPointAdmin(ReadOnlyAdmin):
    list_display = ["kernel_id", "speedup", "is_record", "device", "accepted_at", "commit"]
    list_filter = ["is_record"]
    search_fields = ["kernel_id", "commit"]


@admin.register(MirrorState)
class MirrorStateAdmin(ReadOnlyAdmin):
    list_display = ["head", "ledger_head", "error", "followed_at"]

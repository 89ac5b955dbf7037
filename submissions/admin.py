"""Triage: what stands where, and the few things that staff may do to it. Every act is logged."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from submissions.authentication import revoke_token
from submissions.cancel import cancel_run, request_cancel
from submissions.kernel_package.errors import ZooError
from submissions.models import Event, Run, Submission, SubmitterToken
from submissions.requeue import refuse_held, release_held, requeue_run, requeue_submission


class ReadOnlyAdmin(admin.ModelAdmin[Any]):
    """Rows that the walk writes: to look at and to act on, never to edit."""

    actions_on_bottom = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [field.name for field in self.model._meta.fields]

    def act(self, request: HttpRequest, rows: QuerySet[Any], verb: Callable[[Any], Any], done: str) -> None:
        """Apply a verb to each chosen row; log and tell each success, tell each refusal."""
        for row in rows:
            try:
                verb(row.pk)
            except ZooError as error:
                self.message_user(request, f"{row}: {error.message}", messages.ERROR)
                continue
            self.log_change(request, row, [{"changed": {"name": "action", "object": str(row), "fields": [done]}}])
            self.message_user(request, f"{row}: {done}", messages.SUCCESS)


class RunInline(admin.TabularInline[Run, Submission]):
    """A submission's runs, each a link to its own page."""

    model = Run
    fields = ("number", "kind", "state", "attempt", "runner_name", "verdict", "code")
    readonly_fields = fields
    extra = 0
    can_delete = False
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = ("kernel_id", "state", "ending", "mode", "submitter", "is_verified", "code", "received_at")
    list_filter = ("state", "mode", "submitter_is_verified", "received_at")
    search_fields = ("uuid", "kernel_id", "submitter", "code", "reason")
    date_hierarchy = "received_at"
    list_per_page = 50
    show_full_result_count = False
    inlines = (RunInline,)
    actions = ("requeue", "cancel", "release", "refuse")

    @admin.display(boolean=True, description="verified")
    def is_verified(self, row: Submission) -> bool:
        return row.submitter_is_verified

    @admin.action(description="Requeue: measure again", permissions=["change"])
    def requeue(self, request: HttpRequest, rows: QuerySet[Submission]) -> None:
        self.act(request, rows, requeue_submission, "requeued")

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, rows: QuerySet[Submission]) -> None:
        self.act(request, rows, lambda uuid: request_cancel(uuid, "the site's staff"), "cancelled")

    @admin.action(description="Release: the finding is harmless", permissions=["change"])
    def release(self, request: HttpRequest, rows: QuerySet[Submission]) -> None:
        self.act(request, rows, release_held, "released")

    @admin.action(description="Refuse: the finding stands", permissions=["change"])
    def refuse(self, request: HttpRequest, rows: QuerySet[Submission]) -> None:
        self.act(request, rows, refuse_held, "refused")


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = (
        "kernel_id",
        "kind",
        "state",
        "stage",
        "attempt",
        "runner_name",
        "verdict",
        "code",
        "queued_at",
    )
    list_filter = ("state", "kind", "verdict", "arch", "runner_name")
    search_fields = ("uuid", "submission__uuid", "kernel_id", "runner_name", "code", "message")
    date_hierarchy = "queued_at"
    list_per_page = 50
    list_select_related = ("submission",)
    show_full_result_count = False
    actions = ("requeue", "cancel")

    @admin.action(description="Requeue: run again", permissions=["change"])
    def requeue(self, request: HttpRequest, rows: QuerySet[Run]) -> None:
        self.act(request, rows, requeue_run, "requeued")

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, rows: QuerySet[Run]) -> None:
        self.act(request, rows, lambda uuid: cancel_run(uuid, "the site's staff"), "cancelled")


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("at", "topic", "kind", "text")
    list_filter = ("kind",)
    search_fields = ("topic", "text")
    list_per_page = 100
    show_full_result_count = False
    actions = ()


@admin.register(SubmitterToken)
class SubmitterTokenAdmin(ReadOnlyAdmin):
    list_display = ("submitter", "prefix", "created_at", "last_used_at", "revoked_at")
    search_fields = ("submitter", "prefix")
    actions = ("revoke",)
    exclude = ("token_sha256",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [name for name in super().get_readonly_fields(request, obj) if name != "token_sha256"]

    @admin.action(description="Revoke", permissions=["change"])
    def revoke(self, request: HttpRequest, rows: QuerySet[SubmitterToken]) -> None:
        self.act(request, rows, revoke_token, "revoked")

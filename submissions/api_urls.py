"""Routes of the write API, under /api/."""

from django.urls import path

from submissions import api

urlpatterns = [
    path("submissions", api.Submissions.as_view()),
    path("submissions/<uuid:uuid>", api.SubmissionDetail.as_view()),
    path("submissions/<uuid:uuid>/cancel", api.SubmissionCancel.as_view()),
]

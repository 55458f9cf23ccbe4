"""The revisions, one a format. One that was released is never changed."""

"""Programs that make reference figures need libraries of their own and are not collected."""

collect_ignore = ["reference"]

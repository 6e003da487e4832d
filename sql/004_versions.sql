-- The automation switch: whoever turned it is always named. A switch that nobody touched has no row.
alter table runbook_automation_settings
  add check (not automation_enabled or enabled_at is not null),
  add check (automation_enabled or disabled_at is not null),
  add check ((enabled_at is null) = (enabled_by is null)),
  add check ((disabled_at is null) = (disabled_by is null));

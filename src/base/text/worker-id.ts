// What a worker may be called, in runbooks, settings and announcements alike.

export const WORKER_ID_PATTERN = '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$'
export const WORKER_ID = new RegExp(WORKER_ID_PATTERN)

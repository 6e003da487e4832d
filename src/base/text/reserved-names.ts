// Names that mean the same to everybody who reads them: environment variables that hold secrets, and the header of a trace.

/** Variables with the connection of a data source: the program's own secrets, such as DATABASE_URL, stay out of reach of runbooks. */
export const CONNECTION_PREFIXES = ['DATAVERSE_', 'DATABRICKS_', 'MATOOLKIT_SOURCE_'] as const

/** Variables with the address or secret of a channel. */
export const NOTIFY_PREFIX = 'MATOOLKIT_NOTIFY_'

/** W3C trace context: https://www.w3.org/TR/trace-context/#traceparent-header */
export const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

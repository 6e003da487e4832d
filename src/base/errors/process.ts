// Errors of what a process needs: its configuration, files, folders, ports and memory. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const PROCESS_ERRORS = errorRows({
  INTERNAL: {
    http: 500,
    exit: EXIT.failed,
    sentence: 'Unexpected error: {reason}. Report it with the log of this time.',
  },
  USAGE: {
    http: 400,
    exit: EXIT.usage,
    sentence: '{reason} Run the command with --help to see its arguments and flags.',
  },
  REFUSED: {
    http: 409,
    exit: EXIT.conflict,
    sentence: '{reason}.',
  },
  CONFIG_INVALID: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The configuration has {count errors}. {problems} Correct them and start again; docs/reference/settings.md lists every setting.',
  },
  WINDOWS_FILE_INVALID: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The file of change windows has problems. {problems} Correct them and start again; docs/runbook.md explains every key.',
  },
  JOB_KEY_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'Cannot use the job keys in "{file}": {reason}. Create a key with "openssl rand -base64 32", or set MATOOLKIT_JOB_KEY_FILE to another file.',
  },
  FOLDER_UNWRITABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Cannot write to the folder "{folder}": {reason}. Change its permissions, start in another folder, or set {setting}.',
  },
  FOLDER_UNSAFE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The folder "{folder}" is not safe: {reason}. {remedy}, or set {setting} to another folder.',
  },
  FILE_UNREADABLE: {
    http: 400,
    exit: EXIT.usage,
    sentence: 'Cannot read the file "{file}": {reason}. Check the path and its permissions.',
  },
  FILE_EXISTS: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The file "{file}" already exists. Choose another name, or add --force to replace it.',
  },
  FILE_UNWRITABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence: 'Cannot write the file "{file}": {reason}. Check the path and its permissions.',
  },
  MEMORY_TOO_SMALL: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The heap of this process can grow to {limitMb} MB, and its roles ({roles}) need {leastMb} MB. Give it more memory, set NODE_OPTIONS=--max-old-space-size={leastMb}, or run fewer roles in one process.',
  },
  PORT_UNUSABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'Cannot use port {port} for {purpose}: {reason}. Set {setting} to a free port.',
  },
  SERVICE_STILL_RUNNING: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'The service "{name}" did not stop in time. Its unfinished work is repeated after the next start; check the log for the cause.',
  },
  TELEMETRY_PACKAGE_MISSING: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The packages for telemetry cannot be loaded: {reason}. Run "{command}" and start again, or unset OTEL_EXPORTER_OTLP_ENDPOINT and APPLICATIONINSIGHTS_CONNECTION_STRING.',
  },
})

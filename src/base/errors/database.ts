// Errors of the database, its schema, its roles and its snapshots. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const DATABASE_ERRORS = errorRows({
  DATABASE_FOLDER_IN_USE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" is in use by {owner}. Stop that process, or use a PostgreSQL server (DATABASE_URL) to share one database between processes.',
  },
  DATABASE_FOLDER_BROKEN: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" is broken: {reason}. Restore its newest good snapshot, of {takenAt}, with "matoolkit db restore {name}"; the present files are kept.',
  },
  DATABASE_FOLDER_LOST: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" is broken: {reason}. It has no snapshot. Restore your own backup of the folder, or move it away to start with an empty database.',
  },
  DATABASE_DISK_FULL: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The disk of the embedded database in "{folder}" is full: {reason}. Free some space, then start again; what was acknowledged is kept.',
  },
  DATABASE_STOPPED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" stopped: {reason}. Start again; what was acknowledged is kept.',
  },
  DATABASE_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database does not answer: {reason}. Check DATABASE_URL and that the server is running.',
  },
  DATABASE_URL_UNFIT: {
    http: 500,
    exit: EXIT.usage,
    sentence: 'DATABASE_URL {reason}. Correct it, then start again.',
  },
  DATABASE_RESTORED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database was restored from a backup, and not everything is on hold yet. Try again in a few seconds; start an orchestrator if none runs.',
  },
  DATABASE_TOO_OLD: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database server runs PostgreSQL {version}, which is too old. Use PostgreSQL 15 or newer.',
  },
  DATABASE_NOT_EMPTY: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The database has {tables} tables, so it cannot be marked as throw-away. Use an empty database, or no DATABASE_URL for one in memory.',
  },
  DATABASE_NOT_THROW_AWAY: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'A {clock} clock needs a throw-away database, and this database is not marked as one. Use a database in memory, or the real clock.',
  },
  DATABASE_ROLE_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'The database has no role "{role}". Create it as an administrator (create role … login), then run the command again.',
  },
  DATABASE_ROLE_TOO_POWERFUL: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The database role "{role}" cannot be limited: {why}. Use a role of its own that has nothing but a login.',
  },
  SNAPSHOT_FAILED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Cannot take a snapshot of the embedded database in "{folder}": {reason}. Check the disk; older snapshots are kept.',
  },
  SNAPSHOT_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no snapshot "{name}" in "{folder}". List them with "matoolkit db snapshots".',
  },
  SCHEMA_NEWER: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database has schema version {found}, which needs a program of schema version {lowest} or newer; this one has {known}. Run a newer matoolkit, or restore a backup from before the upgrade.',
  },
  SCHEMA_IN_USE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The migration {file} takes away what programs before schema version {lowest} use, and these are at work: {who}. Replace or stop them, then run it again; "matoolkit db migrate --stop-older" makes them stop.',
  },
  SCHEMA_BUSY: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The migration {file} got no lock in {count attempts}: a long transaction uses its tables. It changed nothing. Run it again when less happens.',
  },
  SCHEMA_AHEAD: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database has schema version {found}, and this program knows {known}: it does not know all tables. Use the newer matoolkit that migrated it.',
  },
  SCHEMA_OLDER: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database has schema version {found}, but this program needs version {known} and may not upgrade it: {why}. Run "matoolkit db migrate" with the DATABASE_URL of the owner.',
  },
  SCHEMA_EDITED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Another build of matoolkit made this database: its {file} differs from the one of this program, so it is not upgraded. Run the build that made it, or start with an empty database. If you changed the file, put the change into a new migration.',
  },
  SCHEMA_UNRELEASED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'An unreleased matoolkit created this database: it has "{found}" where this version has "{wanted}". It cannot be upgraded; start with an empty database.',
  },
  SCHEMA_INCOMPLETE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database says that it has the schema of this program, but something is missing: {reason}. It was removed, or a restore was cut off: restore a backup, then start again.',
  },
  NOT_OWNER: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database role "{role}" does not own the tables. Run the command with the DATABASE_URL of the owner.',
  },
  RIGHTS_MISSING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database role "{role}" lacks what this process needs: {missing}. Run "{command}" with the DATABASE_URL of the owner.',
  },
  ENTRA_ROLES_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This server cannot make the role "{role}" for an identity of Entra ID: only Azure Database for PostgreSQL with Entra sign-in can. Create the role as an administrator (create role … login), and leave out --entra.',
  },
})

// Whether programs of the former release can continue while a migration runs and after it: a list of what an additive migration may say.
// Anything else takes something away, tightens a rule or locks a table for long, or a machine cannot tell; then the file must be
// contracting and name the first migration whose programs do not mind.
import { type Migration, upgradeOf } from '../../../src/db/schema/migration-files.ts'

/** Statements without comments, in one line each. */
export function statementsIn(sql: string): string[] {
  const statements: string[] = []
  let current = ''
  const part = /--[^\n]*|'(?:[^']|'')*'|(\$\w*\$)[\s\S]*?\1|;|[^-'$;]+|[-$]/g
  for (const [text] of sql.matchAll(part)) {
    if (text === ';') {
      statements.push(current)
      current = ''
    } else if (!text.startsWith('--')) current += text
  }
  return [...statements, current].map((one) => one.replace(/\s+/g, ' ').trim()).filter(Boolean)
}

const NEW_TABLE = /^create table (\w+) \(/
const NEW_THING = /^create (?:view|function|sequence) \w+|^comment on /
const NEW_FUNCTION = /^create function (\w+)/
const CLOSING = /^revoke execute on function ([\w, ]+) from public$/
const INDEX = /^create index \w+ on (\w+)/
const CONCURRENT = /^create index concurrently if not exists \w+ on \w+/
const INSERT = /^insert into (\w+)/
const ADDED_COLUMNS = /^alter table (\w+) (add column .*)$/
/** A constant default is stored once; anything else writes every row under a lock that stops everybody. */
const CONSTANT = "default (?:'[^']*'|-?[0-9.]+|true|false|null)"
const COLUMN = new RegExp(
  `^add column \\w+ (?:double precision|[a-z0-9]+)(?:\\[\\])?(?: collate "C")?(?: ${CONSTANT})?(?: not null)?(?: ${CONSTANT})?$`,
)
const CHUNK = /^(?:update|delete|with) .*\blimit [1-9]\d{0,3}\b/

/** What keeps a migration from being what it declares; empty when nothing does. */
export function faultsIn(migration: Migration): string[] {
  const { kind } = upgradeOf(migration)
  const statements = statementsIn(migration.sql)
  if (kind === 'contracting') return []
  if (kind === 'additive') return additiveFaults(statements)
  const only = kind === 'index' ? CONCURRENT : CHUNK
  return statements.length === 1 && only.test(statements[0]!)
    ? []
    : [`${kind}: ${statements.join('; ')}`]
}

function additiveFaults(statements: readonly string[]): string[] {
  const fresh = new Set(statements.flatMap((one) => NEW_TABLE.exec(one)?.[1] ?? []))
  const isOnFresh = (one: string) =>
    [INDEX, INSERT].some((pattern) => fresh.has(pattern.exec(one)?.[1] ?? ''))
  const functions = statements.flatMap((one) => NEW_FUNCTION.exec(one)?.[1] ?? [])
  const closesFresh = (one: string) =>
    CLOSING.exec(one)?.[1]
      ?.split(', ')
      .every((name) => functions.includes(name)) ?? false
  return statements.filter(
    (one) =>
      !NEW_TABLE.test(one) &&
      !NEW_THING.test(one) &&
      !isOnFresh(one) &&
      !closesFresh(one) &&
      !addsColumns(one),
  )
}

function addsColumns(statement: string): boolean {
  const columns = ADDED_COLUMNS.exec(statement)?.[2]?.split(/, (?=add )/) ?? []
  return columns.length > 0 && columns.every(isHarmlessColumn)
}

/** Programs that do not know the column insert rows without it. */
const isHarmlessColumn = (column: string): boolean =>
  COLUMN.test(column) && (!column.includes(' not null') || column.includes(' default '))

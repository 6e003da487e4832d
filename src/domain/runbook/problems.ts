// Every problem that reading a runbook can find: a stable code, its severity and a message that says what is wrong and what to
// do. `{name}` is filled in where the problem is found. The migration rules
// have a table of their own: lint/lint-rules.ts.
import { isLintRule, LINT_RULES, lintLinkOf } from './lint/lint-rules.ts'

export interface RunbookProblem {
  code: ProblemCode
  severity: 'error' | 'warning'
  line: number
  column: number
  /** The offending text as written, first line only. */
  text: string
  message: string
  /** Its path, such as `phases[0].steps[1].retry`. */
  path: string
  /** Where a migration rule is explained. */
  link?: string
}

/** A warning that a comment in the file ignores. */
export interface IgnoredProblem extends RunbookProblem {
  reason: string
}

const table = <
  T extends Record<string, { severity: RunbookProblem['severity']; sentence: string }>,
>(
  rows: T,
): T => rows

const error = (sentence: string) => ({ severity: 'error' as const, sentence })
const warning = (sentence: string) => ({ severity: 'warning' as const, sentence })

export const PROBLEMS = table({
  // The file.
  TOO_LARGE: error('The file has more than {max} bytes. Split the runbook.'),
  NOT_UTF8: error('The file is not UTF-8: {reason}. Save it as UTF-8.'),
  CONTROL_CHARACTER: error(
    'The file contains {character} here. Remove it, and save the file as UTF-8.',
  ),
  EMPTY_DOCUMENT: error('The file contains no runbook. Start with "name:" and "data_source:".'),
  SEVERAL_DOCUMENTS: error('A second document starts here. Keep one runbook per file.'),
  TOO_DEEP: error('This is nested more than {max} levels deep. Flatten it.'),
  TOO_MANY_NODES: error(
    'The file has more than {max} keys, values and comments. Split the runbook.',
  ),
  TOO_MANY_PROBLEMS: error(
    'There are more than {max} problems. Correct those listed, then check again.',
  ),
  YAML_SYNTAX: error('This is not valid YAML: {reason}. Correct it; nothing else was checked yet.'),
  YAML_TAG: error('The tag {tag} is unknown. Remove it; write text in quotes.'),
  YAML_ALIAS: error(
    'Runbooks do not support aliases. Write the value out; nothing else was checked yet.',
  ),
  YAML_DIRECTIVE: error('Runbooks do not support directives such as %YAML. Remove this line.'),
  DUPLICATE_KEY: error(
    'The key "{key}" appears twice, first in line {first}. Remove or rename one.',
  ),
  RESERVED_NAME: error('"{name}" is a reserved name. Choose another name.'),
  // Keys and their types.
  UNKNOWN_KEY: error('"{key}" is not a key of {place}. {hint}'),
  MISSING_KEY: error('{place} needs the key "{key}". Add it.'),
  EMPTY_VALUE: error('"{key}" has no value. Set it to {expected}, or remove the key.'),
  EMPTY_LIST: error('"{key}" is empty. Add at least one entry.'),
  WRONG_TYPE: error('This is {found}; use {expected}. {hint}'),
  UNKNOWN_VALUE: error('"{value}" is not allowed here. {hint}'),
  CONFLICTING_KEYS: error('"{key}" cannot be used {condition}. Remove it.'),
  TWO_BATCH_TIMES: error(
    'Both "batch_time" and "batch_time_column" are set. Keep one: "batch_time: immediate" starts members at once, "batch_time_column" at the time in that column.',
  ),
  // Single values.
  BAD_NAME: error(
    '"{value}" is not a valid name. Use at most 63 letters, digits, "-" and "_", starting with a letter or digit. {hint}',
  ),
  BAD_WORKER_ID: error(
    '"{value}" is not a valid worker id. Use at most 63 letters, digits, "-", "_" and "."; templates are not allowed. {hint}',
  ),
  BAD_FUNCTION: error(
    '"{value}" is not a valid function. Write a name such as New-User, or a template such as "{{Action}}".',
  ),
  BAD_VARIABLE: error(
    '"{value}" is not a valid variable or column. Use up to 128 characters without braces and without blanks at the ends.',
  ),
  BAD_DURATION: error(
    '"{value}" is not a duration from 1s to {max}. Write a whole number and a unit: 30s, 15m, 4h, 7d. {hint}',
  ),
  BAD_OFFSET: error(
    '"{value}" is not an offset. Write T-0, or T with a whole number and a unit: T-5d, T-4h, T-30m, T+7d, at most 365d. {hint}',
  ),
  BAD_PERCENT: error(
    '"{value}" is not a percentage from 1% to 100%. Write a whole number and "%": 95%. {hint}',
  ),
  BAD_NUMBER: error('{value} is out of range. Use a whole number from {min} to {max}.'),
  NUMBER_NOT_EXACT: error('{value} is too precise for a number. Put it in quotes.'),
  BAD_CONNECTION: error(
    '"{value}" is not an allowed environment variable. Name one that starts with {prefixes}; its value never belongs in a runbook. {hint}',
  ),
  BAD_PATH: error(
    '"{value}" is not a relative path. Use forward slashes, without ".." and without a drive or leading slash.',
  ),
  BAD_TIME_ZONE: error(
    '"{value}" is not an IANA time zone. Use a name such as Europe/Berlin or UTC.',
  ),
  BAD_CLOCK_TIME: error(
    '"{value}" is not a time of day. Write hours and minutes with two digits: "06:00", "22:30". {hint}',
  ),
  BAD_DATE: error('"{value}" is not a date. Write year, month and day: 2026-12-19.'),
  BAD_LANGUAGE: error('"{value}" is not a language. Write a code such as en, de or pt-BR.'),
  // Rules between values.
  FREEZE_BACKWARDS: error(
    'The freeze ends on {to}, before it begins on {from}. Correct one of the dates.',
  ),
  WINDOWS_EMPTY: error(
    '"windows" has neither hours nor freezes, so nothing would wait. Add one of them, or remove the key.',
  ),
  DUPLICATE_NAME: error(
    'The {kind} "{name}" already exists in line {first}; names ignore case. Rename one.',
  ),
  CONDITION_TESTS: error(
    'This condition has {count} tests. Keep exactly one of "is", "is_not", "in", "not_in" and "present".',
  ),
  CONDITION_VALUE: error(
    '"{key}" compares with a text, a number, true or false, and with no template. Write "present: true" to ask for any value.',
  ),
  NO_PEOPLE: error(
    '"{name}" looks people up, and the runbook does not say how they are called. Add "people" with worker_id, source and target.',
  ),
  PEOPLE_ELSEWHERE: error(
    '"{name}" gives names in the tenant of worker "{target}", and this step runs on "{worker}", where they may be strangers. Move the step to "{target}".',
  ),
  UNKNOWN_ROLLBACK: error('There is no rollback "{name}". {hint}'),
  UNKNOWN_MESSAGE: error('There is no message "{name}". {hint}'),
  UNKNOWN_LANGUAGE: error('The message "{message}" has no text in "{language}". {hint}'),
  SECRET_IN_MESSAGE: error('A message cannot contain a secret. Remove {{{name}}}.'),
  UNKNOWN_COLUMN: error('{source} no column "{name}". {hint}'),
  POLL_TIMEOUT_SHORT: error(
    'The poll timeout {timeout} is shorter than the interval {interval}. Increase it.',
  ),
  RETRY_INTERVAL_SHORT: error(
    'The max_interval {max} is shorter than the interval {interval}. Increase it.',
  ),
  RAMP_NOT_RISING: error(
    'The share {value} follows {former}, so it would add no one. Use a larger share, or remove it.',
  ),
  RAMP_INCOMPLETE: error(
    'The ramp ends at {value}, so the other members would never start. Add 100% as its last share.',
  ),
  // Templates and variables.
  TEMPLATE_NOT_QUOTED: error(
    'YAML reads bare braces as a map. Put the template in quotes: "{{Name}}".',
  ),
  TEMPLATE_SYNTAX: error(
    'The template "{piece}" {reason}. Write {{Name}}, or \\{{ for plain braces.',
  ),
  TEMPLATE_IN_KEY: error('A key cannot be a template. Move the template to the value.'),
  TOO_MANY_VARIABLES: error('This step uses more than {max} variables. Split the step.'),
  UNKNOWN_VARIABLE: error('Nothing sets {{{name}}} {place}. {hint}'),
  MEMBER_DATA_IN_INIT: error(
    'Init steps run once per batch and see no member data, so {{{name}}} is unknown {place}. {hint}',
  ),
  // Warnings: the runbook can be used.
  VARIABLE_NOT_ALWAYS_SET: warning(
    '{{{name}}} is known only after {provider}. The step fails for a member who leaves earlier. Write "when: [{ variable: {name}, present: true }]".',
  ),
  SHADOWED_VARIABLE: warning('The output "{name}" hides the {other} of the same name. Rename it.'),
  STRAY_BRACES: warning(
    '"}}" closes no template and is sent as text. Remove it, or open with "{{".',
  ),
  UNUSED_MESSAGE: warning('No step and no correction uses this message. Remove it, or use it.'),
  UNUSED_ROLLBACK: warning('No on_failure uses this rollback. Remove it, or use it.'),
  NO_EFFECT: warning('"{key}" has no effect {condition}. Remove it.'),
  NOT_A_BOOLEAN: warning(
    'YAML reads {value} as the text "{value}". Write {meant}, or quote it if you mean text.',
  ),
  MISSING_PARAMETER: error('{function} needs the parameter "{name}". Add it to params.'),
  MISSING_PARAMETER_ALLOWED: warning(
    '{function} needs the parameter "{name}". Its jobs will be refused. Add it to params.',
  ),
  UNKNOWN_OUTPUT: error('{function} returns no field "{field}". {hint}'),
  FUNCTION_NAME_TAKEN: error(
    'Worker "{worker}" has a function of its own named {function}, as a built-in one is. Rename it, or write "overrides: true" in its module; the worker does not start before.',
  ),
  NUMBER_REWRITTEN: warning('{value} is read as the number {number}. Quote it if it is a text.'),
})

export type ProblemCode = keyof typeof PROBLEMS | keyof typeof LINT_RULES
export type ProblemDetails = Readonly<Record<string, string | number>>

type Details = ProblemDetails | (() => ProblemDetails)

export interface Span {
  readonly start: number
  readonly end: number
}

/** The mend of a problem that keeps what the earlier system did: a text instead of the span, or null to remove its lines. */
export interface Mend {
  readonly at: Span
  readonly write: string | null
  readonly problem: RunbookProblem
}

/** Reading stops at this many problems; it also bounds the output for hostile input. */
const PROBLEMS_MAX = 500
const TEXT_MAX = 80

/** What to write instead of the problem's span or of another. */
export type MendOf = Pick<Mend, 'write'> & Partial<Pick<Mend, 'at'>>

/** Collects problems with line, column and offending text. */
export interface Findings {
  readonly problems: readonly RunbookProblem[]
  /** Left out of `problems` by a comment. */
  readonly ignored: readonly IgnoredProblem[]
  readonly mends: readonly Mend[]
  readonly hasErrors: boolean
  /** A function computes details only when the problem is kept: finding near names is slow. */
  add(code: ProblemCode, at: Span, path: string, details?: Details, mend?: MendOf): void
  /** Whether there was such a problem. */
  ignore(matches: (problem: RunbookProblem) => boolean, reason: string): boolean
  lineOf(offset: number): number
}

export function findingsIn(source: string): Findings {
  const lineStarts = lineStartsOf(source)
  let problems: RunbookProblem[] = []
  const ignored: IgnoredProblem[] = []
  const mends: Mend[] = []
  let hasErrors = false

  function add(
    code: ProblemCode,
    at: Span,
    path: string,
    details: Details = {},
    mend?: MendOf,
  ): void {
    if (problems.length === PROBLEMS_MAX) keep('TOO_MANY_PROBLEMS', at, path, { max: PROBLEMS_MAX })
    if (problems.length > PROBLEMS_MAX) return
    keep(code, at, path, typeof details === 'function' ? details() : details)
    if (mend) mends.push({ at, ...mend, problem: problems.at(-1)! })
  }

  function keep(code: ProblemCode, at: Span, path: string, details: ProblemDetails): void {
    const isRule = isLintRule(code)
    const { severity, sentence } = isRule ? warning(LINT_RULES[code].sentence) : PROBLEMS[code]
    hasErrors ||= severity === 'error'
    const line = lineAt(lineStarts, at.start)
    const column = at.start - lineStarts[line - 1]! + 1
    const text = excerpt(source, at)
    const message = fill(sentence, details)
    const link = isRule && { link: lintLinkOf(code) }
    problems.push({ code, severity, line, column, text, message, path, ...link })
  }

  function ignore(matches: (problem: RunbookProblem) => boolean, reason: string): boolean {
    const found = problems.filter(matches)
    ignored.push(...found.map((problem) => ({ ...problem, reason })))
    problems = problems.filter((problem) => !matches(problem))
    return found.length > 0
  }

  return {
    get problems() {
      return problems
    },
    ignored,
    mends,
    add,
    ignore,
    lineOf: (offset) => lineAt(lineStarts, offset),
    get hasErrors() {
      return hasErrors
    },
  }
}

const fill = (sentence: string, details: ProblemDetails): string =>
  sentence
    .replaceAll(/\{([a-z]+)\}/g, (whole, name: string) =>
      Object.hasOwn(details, name) ? shorten(String(details[name])) : whole,
    )
    .trimEnd()

const shorten = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

function excerpt(source: string, { start, end }: Span): string {
  const piece = source.slice(start, Math.min(end, start + TEXT_MAX + 1))
  const [line = ''] = piece.split(/\r?\n/, 1)
  return line.length > TEXT_MAX ? `${line.slice(0, TEXT_MAX)}…` : line.trimEnd()
}

function lineStartsOf(source: string): number[] {
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1))
    starts.push(at + 1)
  return starts
}

function lineAt(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= offset) low = middle
    else high = middle - 1
  }
  return low + 1
}

// The formats of texts in a runbook: what is expected, how to check it, and what a near miss probably meant.

import {
  DURATION_PATTERN,
  OFFSET_PATTERN,
  parseDurationSec,
  parseOffsetMinutes,
} from '../../base/text/duration.ts'
import { CONNECTION_PREFIXES } from '../../base/text/reserved-names.ts'
import { WORKER_ID_PATTERN } from '../../base/text/worker-id.ts'
import type { ProblemCode, ProblemDetails } from './problems.ts'

export interface TextFormat {
  /** For messages: "a duration such as 15m". */
  readonly expected: string
  readonly pattern?: string
  readonly maxLength?: number
  check(text: string): ShapeFault | null
}

export interface ShapeFault {
  readonly code: ProblemCode
  readonly details?: ProblemDetails
  /** What was certainly meant. */
  readonly write?: string
}

const LANGUAGE_PATTERN = '^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}$'

/** `mend` guesses what was meant; a guess that fits is offered. */
function matching(
  expected: string,
  code: ProblemCode,
  pattern: string,
  mend: (text: string) => string,
): TextFormat {
  const regexp = new RegExp(pattern)
  return {
    expected,
    pattern,
    check: (text) => (regexp.test(text) ? null : { code, ...meant(mend(text), regexp) }),
  }
}

const meant = (guess: string, pattern: RegExp, more: ProblemDetails = {}) =>
  pattern.test(guess)
    ? { details: { ...more, hint: `Write ${guess}.` }, write: guess }
    : { details: { ...more, hint: '' } }

/** "Create user (new)" becomes "Create-user-new". */
export const asName = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/[^a-zA-Z0-9_]+/g, '-')
    .replaceAll(/^[-_]+|-+$/g, '')
const unspaced = (text: string): string => text.replaceAll(/\s/g, '')

export const FREE: TextFormat = { expected: 'text', check: () => null }

export const NAME = matching('a name', 'BAD_NAME', '^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$', asName)
export const WORKER = matching('a worker id', 'BAD_WORKER_ID', WORKER_ID_PATTERN, asName)

export const FUNCTION: TextFormat = {
  expected: 'the name of a function',
  check: (text) =>
    text.includes('{{') || /^[a-zA-Z][a-zA-Z0-9_.-]{0,127}$/.test(text)
      ? null
      : { code: 'BAD_FUNCTION' },
}

export const VARIABLE: TextFormat = {
  expected: 'the name of a variable or column',
  pattern: '^[^\\s{}]([^{}]*[^\\s{}])?$',
  maxLength: 128,
  check: (text) =>
    text.length > 128 || text !== text.trim() || /[{}]/.test(text)
      ? { code: 'BAD_VARIABLE' }
      : null,
}

export const FIELD: TextFormat = { expected: 'the name of a result field', check: () => null }

export function duration(max: string): TextFormat {
  const maxSec = parseDurationSec(max)!
  return {
    expected: 'a duration such as 30s, 15m, 4h or 7d',
    pattern: DURATION_PATTERN,
    check(text) {
      const seconds = parseDurationSec(text)
      return seconds === null || seconds > maxSec
        ? { code: 'BAD_DURATION', ...meantTime(text, parseDurationSec, { max }) }
        : null
    },
  }
}

export const OFFSET: TextFormat = {
  expected: 'an offset such as T-5d, T-0 or T+7d',
  pattern: OFFSET_PATTERN,
  check: (text) =>
    parseOffsetMinutes(text) === null
      ? { code: 'BAD_OFFSET', ...meantTime(text, parseOffsetMinutes) }
      : null,
}

/** Blanks and case are the usual slips: "T- 5D". */
function meantTime(
  text: string,
  parse: (text: string) => number | null,
  more: ProblemDetails = {},
): Pick<ShapeFault, 'details' | 'write'> {
  const tight = unspaced(text).toLowerCase().replace(/^t/, 'T')
  const guess = /^T[-+]0[smhd]$/.test(tight) ? 'T-0' : tight
  return guess !== text && parse(guess) !== null
    ? { details: { ...more, hint: `Write ${guess}.` }, write: guess }
    : { details: { ...more, hint: '' } }
}

const PERCENT_PATTERN = '^([1-9][0-9]?|100)%$'
export const PERCENT = matching(
  'a percentage such as 95%',
  'BAD_PERCENT',
  PERCENT_PATTERN,
  (text) => {
    const tight = unspaced(text)
    return tight.endsWith('%') ? tight : `${tight}%`
  },
)

const CONNECTION_PATTERN = `^(${CONNECTION_PREFIXES.join('|')})[A-Z0-9_]{1,100}$`
const connectionRegexp = new RegExp(CONNECTION_PATTERN)
export const CONNECTION: TextFormat = {
  expected: 'the name of an environment variable',
  pattern: CONNECTION_PATTERN,
  check: (text) =>
    connectionRegexp.test(text)
      ? null
      : {
          code: 'BAD_CONNECTION',
          ...meant(`MATOOLKIT_SOURCE_${text.toUpperCase()}`, connectionRegexp, {
            prefixes: CONNECTION_PREFIXES.join(', '),
          }),
        },
}

// Files are below a configured folder; a runbook cannot leave it.
export const PATH: TextFormat = {
  expected: 'a relative path',
  check: (text) =>
    /^[/~]|\\|^[a-zA-Z]:/.test(text) || text.split('/').includes('..')
      ? { code: 'BAD_PATH' }
      : null,
}

export const TIME_ZONE: TextFormat = {
  expected: 'an IANA time zone such as Europe/Berlin',
  check: (text) => (isTimeZone(text) ? null : { code: 'BAD_TIME_ZONE' }),
}

function isTimeZone(text: string): boolean {
  // Intl also accepts "+02:00", which has no daylight saving time.
  if (!/^[a-zA-Z]/.test(text)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) !== null
  } catch {
    return false
  }
}

const CLOCK_PATTERN = '^([01]\\d|2[0-3]):[0-5]\\d$'
const clockRegexp = new RegExp(CLOCK_PATTERN)
export const CLOCK_TIME: TextFormat = {
  expected: 'a time of day such as 22:00',
  pattern: CLOCK_PATTERN,
  check: (text) =>
    clockRegexp.test(text)
      ? null
      : { code: 'BAD_CLOCK_TIME', ...meant(`0${unspaced(text)}`, clockRegexp) },
}

const DATE_PATTERN = '^\\d{4}-\\d\\d-\\d\\d$'
export const DATE: TextFormat = {
  expected: 'a date such as 2026-12-19',
  pattern: DATE_PATTERN,
  check: (text) => (isDate(text) ? null : { code: 'BAD_DATE' }),
}

/** Date.parse turns 30 February into 2 March. */
function isDate(text: string): boolean {
  const ms = new RegExp(DATE_PATTERN).test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}

export const LANGUAGE: TextFormat = {
  expected: 'a language such as en or de-AT',
  pattern: LANGUAGE_PATTERN,
  check: (text) => (isLanguage(text) ? null : { code: 'BAD_LANGUAGE' }),
}

/** Intl knows how a well-formed tag writes times, if need be as its primary language does. */
const isLanguage = (text: string): boolean => new RegExp(LANGUAGE_PATTERN).test(text)

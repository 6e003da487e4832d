// Keeps personal data and secrets out of the log. Errors of databases quote the value they refuse, often a name: those go too. `redact` turns any value into plain JSON without them: it drops fields by name at
// any depth, and masks whatever looks like a secret or an e-mail address in every text, key and error. Limits keep one huge value from
// flooding the log.

import { MatoolkitError, messageOf } from '../errors/errors.ts'
import type { Json } from '../text/json.ts'

const REDACTED = '[redacted]'
const MAX_DEPTH = 8
const MAX_ITEMS = 100
/** Over the whole value: a pool or a socket logged by mistake is a graph with cycles, 100 wide and 8 deep. */
const MAX_PARTS = 2_000
const MAX_TEXT_CHARS = 8_192
/** Below the limit, so that a cut text with its remark is not cut again. */
const CUT_TO_CHARS = 8_000

/** Compared without case and separators: `member_key`, `memberKey` and `Member-Key` are the same. */
const PERSONAL = [
  'params',
  'parameters',
  'result',
  'results',
  'output',
  'outputs',
  'variables',
  'values',
  'data',
  'datajson',
  'workerdatajson',
  'row',
  'rows',
  'body',
  'input',
  'payload',
  'member',
  'memberkey',
  'memberkeys',
  'upn',
  'userprincipalname',
  'displayname',
  'username',
  'givenname',
  'surname',
  'firstname',
  'lastname',
  'mail',
  'email',
  'emailaddress',
  'phone',
  'mailnickname',
  'proxyaddresses',
  'othermails',
  'primarysmtpaddress',
  // PostgreSQL errors repeat row values in these fields.
  'detail',
  'where',
  'internalquery',
]
const SECRET = [
  'authorization',
  'cookie',
  'setcookie',
  'credential',
  'credentials',
  'pfx',
  'pem',
  'cert',
  'certificate',
  'databaseurl',
  'sas',
  'sig',
  'signature',
  'assertion',
  'clientassertion',
]
const HIDDEN_NAMES = new Set([...PERSONAL, ...SECRET])
const HIDDEN_ENDINGS =
  /(?:password|passwd|passphrase|pwd|secret|token|apikey|accesskey|accountkey|privatekey|connectionstring)$/

const foldedName = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

const isHidden = (name: string): boolean => {
  const folded = foldedName(name)
  return HIDDEN_NAMES.has(folded) || HIDDEN_ENDINGS.test(folded)
}

const secretNames = new Map<string, boolean>()
/** A batch has a few names, millions of times; a member's data may have any. */
const NAMES_KEPT_MAX = 1_000

function isSecretName(name: string): boolean {
  const known = secretNames.get(name)
  if (known !== undefined) return known
  const folded = foldedName(name)
  const isSecret = SECRET.includes(folded) || HIDDEN_ENDINGS.test(folded)
  if (secretNames.size < NAMES_KEPT_MAX) secretNames.set(name, isSecret)
  return isSecret
}

const LAST_WORD = /[^\s,;"'<>()]*$/

type Masks = readonly (readonly [RegExp, string])[]

/** Patterns run on at most MAX_TEXT_CHARS, start at a boundary and do not backtrack. */
const SECRET_MASKS: Masks = [
  [/-----BEGIN [^-]{1,60}-----[^-]*(?:-----END [^-]{1,60}-----)?/g, REDACTED],
  [/(?<![\w-])eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)*/g, REDACTED],
  [/\b(bearer|basic|negotiate)\s+[\w.~+/-]{8,}=*/gi, `$1 ${REDACTED}`],
  // A password may contain an unescaped "/" or "@", so everything up to the last "@" of a database or broker URL goes.
  [
    /\b((?:postgres(?:ql)?|amqps?|mssql|sqlserver|mysql|redis|mongodb)[\w+]*:\/\/)\S*@/gi,
    `$1${REDACTED}@`,
  ],
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#]*@/gi, `$1${REDACTED}@`],
  [
    /((?:password|passwd|pwd|passphrase|secret|token|api[-_]?key|accountkey|sharedaccess(?:key|signature)|sig|authorization)\\{0,8}["']?\s{0,3}[=:]\s{0,3})(?:\\{0,8}"[^"]*"?|'[^']*'?|[^\s;,&"'}]+)/gi,
    `$1${REDACTED}`,
  ],
  [/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200,}={0,2}/g, REDACTED],
]
const MASKS: Masks = [
  ...SECRET_MASKS,
  [
    /(?<![\p{L}\p{N}._%+#'-])[\p{L}\p{N}._%+#'-]+(?:@|%40)(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/giu,
    '[address]',
  ],
  // Values that PostgreSQL, SQL Server and Databricks quote in errors; a value may contain quotes, so up to the last one or the stack.
  [
    /\b((?:invalid input (?:syntax|value) for|malformed \w{1,20} literal|field value out of range|for input string)[^:"]{0,80}(?:"[^"]{0,80}")?: ?)"(?:(?!\n {4}at ).)*/gis,
    `$1${REDACTED}`,
  ],
  [/\b(value )".*"( is out of range)/gis, `$1${REDACTED}$2`],
  [
    /\b((?:conversion failed when converting|the conversion of) the [^']{1,60} value |truncated value: )'(?:.*'|.*)/gis,
    `$1${REDACTED}`,
  ],
  [/\b(duplicate key value is )\((?:.*\)|.*)/gis, `$1${REDACTED}`],
  [/\b(the value |text )'.*'( of the type| could not be parsed| cannot be )/gis, `$1${REDACTED}$2`],
]

/** From the first quote to the last, in any language of the server. */
const QUOTED =
  /["'`\u2018-\u201f\u00ab\u00bb\u2039\u203a\u300c-\u300f].*["'`\u2018-\u201f\u00ab\u00bb\u2039\u203a\u300c-\u300f]/s
/** SQLSTATE class 22: the data is wrong, and the message quotes it. */
const DATA_STATE = /^22[0-9A-Z]{3}$/

const isAboutData = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && DATA_STATE.test(error.code)

/** An error's reason for ticks, events and dead letters: our own sentences as they are, others without secrets and quoted data. */
export function safeReasonOf(error: unknown): string {
  if (error instanceof MatoolkitError) return error.message
  const reason = messageOf(error)
  const isData = error instanceof Error && isAboutData(error)
  return redactText(isData ? reason.replace(QUOTED, REDACTED) : reason)
}

/** Masks secrets and e-mail addresses; cuts a very long text. */
export function redactText(text: string): string {
  const isLong = text.length > MAX_TEXT_CHARS
  let kept = isLong ? text.slice(0, CUT_TO_CHARS) : text
  for (const [pattern, mask] of MASKS) kept = kept.replaceAll(pattern, mask)
  if (!isLong) return kept
  // The last word may be half of an address or token that no pattern recognises, so it goes too.
  return `${kept.replace(LAST_WORD, '')}… (${text.length} characters in all)`
}

/** A copy without secrets, for people who may read personal data: people keep their names, and nothing is cut. */
export function maskSecrets(value: Json): Json {
  if (typeof value === 'string') return secretsMaskedIn(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(maskSecrets)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      inner === null || !isSecretName(name) ? maskSecrets(inner) : REDACTED,
    ]),
  )
}

const MASKED_CHARS_LEAST = 200
/** Each of the masks needs one of these, or a text of so many characters. Most values of a large batch are ids, names and times. */
const MAY_HOLD_SECRET = /[\s:=]|eyJ|-----/
const IS_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/

const isPlain = (text: string): boolean =>
  text.length < MASKED_CHARS_LEAST && (!MAY_HOLD_SECRET.test(text) || IS_TIME.test(text))

/** Line by line, but a key of several lines as a whole: the patterns are for short texts. */
function secretsMaskedIn(text: string): string {
  if (isPlain(text)) return text
  const [key, ...lines] = SECRET_MASKS
  const whole = text.replaceAll(...key!)
  return whole
    .split('\n')
    .map((line) => lines.reduce((kept, [pattern, mask]) => kept.replaceAll(pattern, mask), line))
    .join('\n')
}

/** A redacted copy for a log line. */
export function redact(value: unknown): unknown {
  return redactPart(value, 0, { partsLeft: MAX_PARTS })
}

interface Budget {
  partsLeft: number
}

function redactPart(value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(+value) ? null : value.toISOString()
  if (value instanceof URL) return redactText(value.href)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (depth >= MAX_DEPTH || budget.partsLeft <= 0) return '[left out]'
  if (value instanceof Error) return redactFields(fieldsOf(value), depth, budget)
  if (value instanceof Map) return redactFields([...value], depth, budget)
  if (Array.isArray(value) || value instanceof Set) return redactItems([...value], depth, budget)
  return redactFields(Object.entries(value), depth, budget)
}

function redactItems(items: readonly unknown[], depth: number, budget: Budget): unknown[] {
  budget.partsLeft -= Math.min(items.length, MAX_ITEMS)
  const kept = items.slice(0, MAX_ITEMS).map((item) => redactPart(item, depth + 1, budget))
  return items.length > MAX_ITEMS ? [...kept, `… (${items.length - MAX_ITEMS} more)`] : kept
}

type Fields = readonly (readonly [unknown, unknown])[]

function redactFields(fields: Fields, depth: number, budget: Budget): object {
  const present = fields.filter(([, value]) => value !== undefined)
  budget.partsLeft -= Math.min(present.length, MAX_ITEMS)
  const kept = present.slice(0, MAX_ITEMS).map(([key, value]) => {
    const name = String(key)
    const isKept = value === null || !isHidden(name)
    return [redactText(name), isKept ? redactPart(value, depth + 1, budget) : REDACTED]
  })
  if (present.length > MAX_ITEMS) kept.push(['…', `${present.length - MAX_ITEMS} more`])
  return Object.fromEntries(kept)
}

/** All fields of an error; name, message, stack, cause and an aggregate's errors are not enumerable. */
function fieldsOf(error: Error): Fields {
  const { name, cause } = error
  const message = isAboutData(error) ? error.message.replace(QUOTED, REDACTED) : error.message
  const stack = error.stack?.replace(error.message, () => message)
  const further = error instanceof AggregateError ? { errors: error.errors } : {}
  return Object.entries({ ...error, name, message, stack, cause, ...further })
}

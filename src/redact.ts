// What must never be read in a log: personal data of the people who are moved, and secrets. `redact` turns any value into plain
// JSON without them, in two ways that do not rely on the writer's care: fields by their name, at any depth; and inside every
// text, key and error whatever looks like a secret or an e-mail address. Limits keep one huge value from flooding the log.

const REDACTED = '[redacted]'
const MAX_DEPTH = 8
const MAX_ITEMS = 100
/** Over the whole value: a pool or a socket logged by mistake is a graph with cycles, 100 wide and 8 deep. */
const MAX_PARTS = 2_000
const MAX_TEXT_CHARS = 8_192
/** Of a longer text; less than the limit, so that what is left and its remark are not cut again. */
const CUT_TO_CHARS = 8_000

/** Names compared without case and separators: `member_key`, `memberKey` and `Member-Key` are one. */
const PERSONAL = [
  ...['params', 'parameters', 'result', 'results', 'output', 'outputs', 'variables', 'values'],
  ...['data', 'datajson', 'workerdatajson', 'row', 'rows', 'body', 'input', 'payload'],
  ...['member', 'memberkey', 'memberkeys', 'upn', 'userprincipalname', 'displayname', 'username'],
  ...['givenname', 'surname', 'firstname', 'lastname', 'mail', 'email', 'emailaddress', 'phone'],
  ...['mailnickname', 'proxyaddresses', 'othermails', 'primarysmtpaddress'],
  // PostgreSQL repeats the row's values in these fields of its errors.
  ...['detail', 'where', 'internalquery'],
]
const SECRET = [
  ...['authorization', 'cookie', 'setcookie', 'credential', 'credentials', 'pfx', 'pem', 'cert'],
  ...['certificate', 'databaseurl', 'sas', 'sig', 'signature', 'assertion', 'clientassertion'],
]
const HIDDEN_NAMES = new Set([...PERSONAL, ...SECRET])
const HIDDEN_ENDINGS =
  /(?:password|passwd|passphrase|pwd|secret|token|apikey|accesskey|accountkey|privatekey|connectionstring)$/

const isHidden = (name: string): boolean => {
  const folded = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return HIDDEN_NAMES.has(folded) || HIDDEN_ENDINGS.test(folded)
}

const LAST_WORD = /[^\s,;"'<>()]*$/

/** Each pattern is tried on texts of at most MAX_TEXT_CHARS, begins at a boundary and does not backtrack over what it read. */
const MASKS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [^-]{1,60}-----[^-]*(?:-----END [^-]{1,60}-----)?/g, REDACTED],
  [/(?<![\w-])eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)*/g, REDACTED],
  [/\b(bearer|basic|negotiate)\s+[\w.~+/-]{8,}=*/gi, `$1 ${REDACTED}`],
  // A password may hold "/" or "@" unescaped, so everything up to the last "@" of an address of a database or broker goes.
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
  [
    /(?<![\p{L}\p{N}._%+#'-])[\p{L}\p{N}._%+#'-]+(?:@|%40)(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/giu,
    '[address]',
  ],
]

/** The text without anything that looks like a secret or an e-mail address, and cut when very long. */
export function redactText(text: string): string {
  const isLong = text.length > MAX_TEXT_CHARS
  let kept = isLong ? text.slice(0, CUT_TO_CHARS) : text
  for (const [pattern, instead] of MASKS) kept = kept.replaceAll(pattern, instead)
  if (!isLong) return kept
  // The last word may be the first half of an address or a token, which no pattern would know: it goes too.
  return `${kept.replace(LAST_WORD, '')}… (${text.length} characters in all)`
}

/** A plain copy for a log line. */
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

/** What an error holds. Name, message, stack, cause and the errors of an aggregate are not enumerable; the rest is. */
function fieldsOf(error: Error): Fields {
  const { name, message, stack, cause } = error
  const further = error instanceof AggregateError ? { errors: error.errors } : {}
  return Object.entries({ ...error, name, message, stack, cause, ...further })
}

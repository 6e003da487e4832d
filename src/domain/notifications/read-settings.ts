// Reads the file of channels and rules: YAML in, settings or all problems with line and column out. It holds no secrets, only the names of
// the variables and files that do.

import { type Document, isNode, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { parseDurationSec } from '../../base/text/duration.ts'
import { NOTIFY_PREFIX } from '../../base/text/reserved-names.ts'
import { knownZone } from '../../base/text/zoned-time.ts'
import { CONDITION_KINDS, URGENT_KINDS } from './conditions.ts'
import { type QuietHours, WEEKDAYS } from './quiet-hours.ts'
import type { Channel, MailApp, NotificationSettings, SecretPlace } from './rules.ts'

/** Keeps the program's other secrets out of reach of the file. */
const CHANNEL_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$/
const CHANNELS_MAX = 50
const RULES_MAX = 200
const RECIPIENTS_MAX = 50
const FILE_BYTES_MAX = 100_000
const DIGEST_MAX_SEC = 86_400

const matching = (pattern: RegExp, expected: string) =>
  z.string({ error: () => `must be ${expected}` }).regex(pattern, { error: `must be ${expected}` })

const name = matching(CHANNEL_NAME, 'a name of at most 63 letters, digits, "-" and "_"')
const variable = matching(
  new RegExp(`^${NOTIFY_PREFIX}[A-Z0-9_]{1,100}$`),
  `the name of an environment variable that starts with ${NOTIFY_PREFIX}; never the value itself`,
)
const file = z.string({ error: 'must be the path of a file' }).min(1)
const vaultName = matching(
  /^[a-zA-Z0-9-]{1,127}$/,
  'the name of a certificate in Key Vault: letters, digits and "-"',
)
const address = matching(/^[^\s@<>,;]+@[^\s@<>,;]+$/, 'a mail address')
const guid = matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'an id such as 8f14…')
const clockTime = matching(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time in quotes such as "22:00"')
const condition = z.enum(CONDITION_KINDS, {
  error: ({ input }) => `"${String(input)}" is not a condition. Use ${CONDITION_KINDS.join(', ')}`,
})

const common = {
  name,
  time_zone: z
    .string()
    .refine((zone) => knownZone(zone) !== null, {
      error: 'must be an IANA time zone such as Europe/Berlin',
    })
    .default('UTC'),
  quiet_hours: z
    .strictObject({
      days: z
        .array(z.enum(WEEKDAYS))
        .min(1)
        .default([...WEEKDAYS]),
      from: clockTime,
      to: clockTime,
    })
    .optional(),
  digest: z
    .string()
    .refine((text) => (parseDurationSec(text) ?? Number.POSITIVE_INFINITY) <= DIGEST_MAX_SEC, {
      error: 'must be a duration of at most 1d, such as 15m',
    })
    .optional(),
}

const secret = <Key extends string>(key: Key) =>
  ({ [`${key}_variable`]: variable.optional(), [`${key}_file`]: file.optional() }) as {
    [K in `${Key}_variable` | `${Key}_file`]: z.ZodOptional<z.ZodString>
  }

const channel = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ ...common, type: z.literal('teams'), ...secret('url') }),
    z.strictObject({
      ...common,
      type: z.literal('webhook'),
      ...secret('url'),
      ...secret('key'),
    }),
    z.strictObject({
      ...common,
      type: z.literal('mail'),
      from: address,
      to: z.array(address).min(1).max(RECIPIENTS_MAX),
      tenant_id: guid.optional(),
      client_id: guid.optional(),
      ...secret('secret'),
      certificate_file: file.optional(),
      certificate_name: vaultName.optional(),
      ...secret('certificate_password'),
    }),
  ],
  { error: 'needs a type: teams, mail or webhook' },
)
type ChannelEntry = z.infer<typeof channel>

const settings = z.strictObject({
  channels: z.array(channel).min(1).max(CHANNELS_MAX),
  rules: z
    .array(
      z.strictObject({
        conditions: z.array(condition).min(1).optional(),
        channels: z.array(name).min(1),
        runbooks: z.array(z.string()).min(1).optional(),
      }),
    )
    .max(RULES_MAX)
    .default([]),
  urgent: z.array(condition).default([...URGENT_KINDS]),
})

export interface SettingsProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

export type SettingsOrProblems =
  | { readonly settings: NotificationSettings }
  | { readonly problems: readonly SettingsProblem[] }

export function readNotificationSettings(text: string): SettingsOrProblems {
  if (Buffer.byteLength(text) > FILE_BYTES_MAX)
    return { problems: [{ line: 1, column: 1, message: `has more than ${FILE_BYTES_MAX} bytes` }] }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, maxAliasCount: 0 } as never)
  const at = (offset: number, message: string): SettingsProblem => {
    const { line, col: column } = lines.linePos(offset)
    return { line, column, message }
  }
  if (document.errors.length > 0)
    return { problems: document.errors.map(({ pos, message }) => at(pos[0], message)) }
  const read = settings.safeParse(document.toJS({ maxAliasCount: 0 }))
  const faults = read.success
    ? faultsBetween(read.data)
    : read.error.issues.map(({ path, message }) => ({ path, message }))
  const problems = faults.map(({ path, message }) =>
    at(offsetOf(document, path), `${pathText(path)}${message}`),
  )
  if (problems.length > 0 || !read.success) return { problems }
  return { settings: build(read.data) }
}

interface Fault {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Rules between values. */
function faultsBetween({ channels, rules }: z.infer<typeof settings>): Fault[] {
  const names = channels.map((one) => one.name)
  return [
    ...channels.flatMap((one, place) => [
      ...(names.indexOf(one.name) < place
        ? [{ path: ['channels', place, 'name'], message: `"${one.name}" is there twice` }]
        : []),
      ...secretsOf(one).flatMap((key) => secretFault(one, key, ['channels', place])),
      ...appFault(one, ['channels', place]),
    ]),
    ...rules.flatMap((rule, place) =>
      rule.channels
        .filter((one) => !names.includes(one))
        .map((one) => ({
          path: ['rules', place, 'channels'],
          message: `"${one}" is not a channel of this file. Use ${names.join(', ')}`,
        })),
    ),
  ]
}

const secretsOf = (one: ChannelEntry): ('url' | 'key')[] =>
  one.type === 'teams' ? ['url'] : one.type === 'webhook' ? ['url', 'key'] : []

const placeOf = (one: ChannelEntry, key: string): SecretPlace | null => {
  const given = one as Readonly<Record<string, unknown>>
  const [fromVariable, fromFile] = [given[`${key}_variable`], given[`${key}_file`]]
  if (typeof fromVariable === 'string') return { variable: fromVariable }
  return typeof fromFile === 'string' ? { file: fromFile } : null
}

function secretFault(one: ChannelEntry, key: string, path: readonly PropertyKey[]): Fault[] {
  const given = [`${key}_variable`, `${key}_file`].filter((name) => name in one)
  if (given.length === 1) return []
  return [{ path, message: `needs either ${key}_variable or ${key}_file` }]
}

const APP = ['tenant_id', 'client_id'] as const
const PROOFS = ['secret_variable', 'secret_file', 'certificate_file', 'certificate_name'] as const
const PASSWORDS = ['certificate_password_variable', 'certificate_password_file'] as const

/** Exactly one proof of an app registration, or nothing of one. */
function appFault(one: ChannelEntry, path: readonly PropertyKey[]): Fault[] {
  if (one.type !== 'mail') return []
  const [app, [proof, second], [password, other]] = [APP, PROOFS, PASSWORDS].map((keys) =>
    keys.filter((key) => key in one),
  ) as [string[], string[], string[]]
  const excludes = (key: string, earlier: string): Fault => ({
    path: [...path, key],
    message: `does not go together with ${earlier}. Keep one of them`,
  })
  if (second) return [excludes(second, proof!)]
  if (other) return [excludes(other, password!)]
  if (password && proof !== 'certificate_file')
    return [{ path: [...path, password], message: 'is of a certificate_file, and there is none' }]
  const isWhole = app.length === APP.length && proof !== undefined
  if (isWhole || (app.length === 0 && proof === undefined)) return []
  const message = `needs tenant_id, client_id and one of ${PROOFS.join(', ')}, or none of them: then the identity of the process sends`
  return [{ path, message }]
}

function appOf(one: Extract<ChannelEntry, { type: 'mail' }>): MailApp | null {
  const { tenant_id: tenantId, client_id: clientId } = one
  if (tenantId === undefined || clientId === undefined) return null
  const secretPlace = placeOf(one, 'secret')
  if (secretPlace) return { tenantId, clientId, secret: secretPlace }
  const { certificate_file: fromFile, certificate_name: name } = one
  const at = fromFile === undefined ? { vaultName: name! } : { file: fromFile }
  return { tenantId, clientId, certificate: { at, password: placeOf(one, 'certificate_password') } }
}

/** The nearest node that is there. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}

const pathText = (path: readonly PropertyKey[]): string => {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
  return path.length === 0 ? '' : `${text.join('').slice(1)}: `
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

function build({ channels, rules, urgent }: z.infer<typeof settings>): NotificationSettings {
  return {
    channels: channels.map(channelOf),
    rules: rules.map((rule) => ({
      conditions: rule.conditions ?? [],
      channels: rule.channels,
      runbooks: rule.runbooks?.map((runbook) => runbook.toLowerCase()) ?? null,
    })),
    urgent,
  }
}

function channelOf(one: ChannelEntry): Channel {
  const { quiet_hours: quiet, digest } = one
  const quietHours: QuietHours | null = quiet
    ? { days: quiet.days, fromMin: minutesOf(quiet.from), toMin: minutesOf(quiet.to) }
    : null
  const digestSec = digest === undefined ? null : parseDurationSec(digest)
  const shared = { name: one.name, timeZone: one.time_zone, quietHours, digestSec }
  if (one.type === 'mail') {
    const { from, to } = one
    return { ...shared, type: 'mail', from, to, app: appOf(one) }
  }
  const url = placeOf(one, 'url')!
  return one.type === 'teams'
    ? { ...shared, type: 'teams', url }
    : { ...shared, type: 'webhook', url, key: placeOf(one, 'key')! }
}

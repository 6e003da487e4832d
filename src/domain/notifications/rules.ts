// Channels and rules: which condition goes where, and when. Pure: the time is given.
import type { Condition, ConditionKind } from './conditions.ts'
import { type QuietHours, quietUntil } from './quiet-hours.ts'

export const CHANNEL_TYPES = ['teams', 'mail', 'webhook'] as const

/** Where a secret is: the name of an environment variable, or a file. Never the secret itself. */
export type SecretPlace = { readonly variable: string } | { readonly file: string }

/** A certificate with its private key: a file, or a name in the Key Vault of the settings. */
export interface CertificatePlace {
  readonly at: { readonly file: string } | { readonly vaultName: string }
  /** Of a file, if it has one. */
  readonly password: SecretPlace | null
}

/** An app registration that sends mail, and how it proves itself. */
export type MailApp = { readonly tenantId: string; readonly clientId: string } & (
  | { readonly secret: SecretPlace }
  | { readonly certificate: CertificatePlace }
)

interface AnyChannel {
  readonly name: string
  /** Of quiet hours, and of the times in its messages. */
  readonly timeZone: string
  readonly quietHours: QuietHours | null
  /** How long what is not urgent is collected. */
  readonly digestSec: number | null
}

export type Channel = AnyChannel &
  (
    | { readonly type: 'teams'; readonly url: SecretPlace }
    | { readonly type: 'webhook'; readonly url: SecretPlace; readonly key: SecretPlace }
    | {
        readonly type: 'mail'
        readonly from: string
        readonly to: readonly string[]
        /** Null: the identity of the process. */
        readonly app: MailApp | null
      }
  )

export interface NotificationRule {
  /** Empty: all. */
  readonly conditions: readonly ConditionKind[]
  readonly channels: readonly string[]
  /** In lower case; null: all. */
  readonly runbooks: readonly string[] | null
}

export interface NotificationSettings {
  readonly channels: readonly Channel[]
  readonly rules: readonly NotificationRule[]
  readonly urgent: readonly ConditionKind[]
}

/** The channels that are told, each once, in the order of the settings. A rule may name a channel that this process does not know. */
export function channelsFor(
  { kind, runbookNames }: Condition,
  rules: readonly NotificationRule[],
  channels: readonly Channel[],
): Channel[] {
  const names = runbookNames?.map((name) => name.toLowerCase()) ?? null
  const wanted = rules
    .filter(({ conditions }) => conditions.length === 0 || conditions.includes(kind))
    .filter(
      ({ runbooks }) =>
        runbooks === null || names === null || names.some((name) => runbooks.includes(name)),
    )
    .flatMap((rule) => rule.channels)
  return channels.filter(({ name }) => wanted.includes(name))
}

/** When a message to the channel leaves: urgent ones at once, others after its digest and its quiet hours. */
export function sendAt(channel: Channel, isUrgent: boolean, now: Date): Date {
  if (isUrgent) return now
  const { quietHours, digestSec, timeZone } = channel
  const collected = new Date(+now + (digestSec ?? 0) * 1_000)
  return quietHours === null ? collected : quietUntil(quietHours, timeZone, collected)
}

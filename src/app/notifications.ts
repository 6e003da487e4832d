// Notifications in a process: the file of channels and rules, and the service of an orchestrator.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RealClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { readNotificationSettings } from '../domain/notifications/read-settings.ts'
import type { Channel, NotificationSettings } from '../domain/notifications/rules.ts'
import type { Engine } from '../engine/engine.ts'
import { MatoolkitError, messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { openMailCertificates } from '../notifications/mail-certificates.ts'
import { makeNotifications } from '../notifications/notifications.ts'
import type { Service } from '../service.ts'
import { makeTokens, type Tokens } from '../sign-in/token.ts'
import { graphEndpointOf, tokenEndpointsOf } from '../worker/m365/connect.ts'

/** Null without a file. Throws NOTIFICATIONS_FILE_INVALID with all problems. */
export function readNotificationsFile(
  file: Config['notificationsFile'],
): NotificationSettings | null {
  if (file === null) return null
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new MatoolkitError('FILE_UNREADABLE', { file, reason: messageOf(error) })
  }
  const read = readNotificationSettings(text)
  if ('settings' in read) return read.settings
  const problems = read.problems
    .map(({ line, column, message }) => `\n  ${file}:${line}:${column} ${message}`)
    .join('')
  throw new MatoolkitError('NOTIFICATIONS_FILE_INVALID', { problems: `${problems}\n` })
}

/** Next to an orchestrator; nothing without a file. */
export function notificationsOf({
  engine,
  config,
  clock,
  log,
}: {
  readonly engine: Engine
  readonly config: Config
  readonly clock: RealClock
  readonly log: Log
}): Service[] {
  const settings = readNotificationsFile(config.notificationsFile)
  if (settings === null) return []
  requireVault(settings.channels, config)
  const tokens = makeTokens(clock, tokenEndpointsOf(config))
  const service = makeNotifications({
    ...{ engine, settings, clock },
    tokens,
    certificates: openMailCertificates({
      ...{ clock, log },
      readVault: (name) => readVault(name, config, clock, tokens),
    }),
    graph: graphEndpointOf(config),
    newId: randomUUID,
    newToken: randomUUID,
    onFailed: (failure) => log.error(failure, 'A channel was not told'),
    onError: (err) => log.error({ err }, 'Notification error; notifications keep running'),
  })
  return [service]
}

const vaultNameOf = (channel: Channel): string | null => {
  if (channel.type !== 'mail' || !channel.app || !('certificate' in channel.app)) return null
  const { at } = channel.app.certificate
  return 'vaultName' in at ? at.vaultName : null
}

function requireVault(channels: readonly Channel[], { keyVaultUrl }: Config): void {
  const asking = channels.find((channel) => vaultNameOf(channel) !== null)
  if (keyVaultUrl !== null || !asking) return
  const problems = `Channel ${asking.name} has certificate_name "${vaultNameOf(asking)}", and MATOOLKIT_KEY_VAULT_URL is not set.`
  throw new MatoolkitError('NOTIFICATIONS_FILE_INVALID', { problems })
}

/** Loaded with the first message: most channels need no vault. */
async function readVault(
  name: string,
  config: Config,
  clock: RealClock,
  tokens: Tokens,
): Promise<Buffer> {
  const { openKeyVault } = await import('../worker/open-worker.ts')
  const { certificateIn } = await import('../worker/credential.ts')
  return certificateIn(openKeyVault(config, clock, tokens)!, name)
}

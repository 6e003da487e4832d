// The service of an orchestrator that tells people.
import { randomUUID } from 'node:crypto'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Log } from '../../base/log/log.ts'
import type { RealClock } from '../../base/run/clock.ts'
import type { Service } from '../../base/run/service.ts'
import type { Config } from '../../base/settings/config.ts'
import { tokenEndpointsOf } from '../../base/sign-in/clouds.ts'
import { makeTokens, type Tokens } from '../../base/sign-in/token.ts'
import type { Channel } from '../../domain/notifications/rules.ts'
import { openMailCertificates } from '../../engine/notify/mail-certificates.ts'
import { makeNotifications } from '../../engine/notify/send-loop.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { graphEndpointOf } from '../../m365/client/connect.ts'
import { readNotificationsFile } from './notifications-file.ts'

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
    engine,
    settings,
    clock,
    tokens,
    certificates: openMailCertificates({
      clock,
      log,
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
  const { openKeyVault } = await import('../../worker/open-worker.ts')
  const { certificateIn } = await import('../../m365/client/credential.ts')
  return certificateIn(openKeyVault(config, clock, tokens)!, name)
}

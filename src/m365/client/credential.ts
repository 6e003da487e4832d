// How the worker proves who it is: a certificate from a file or Key Vault that may be renewed at any time, a federated identity, or a secret.
import { readFile } from 'node:fs/promises'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import { readCertificate, type SigningCertificate } from '../../base/sign-in/certificate.ts'
import { openRotatingCertificate } from '../../base/sign-in/rotating-certificate.ts'
import type { KeyVault } from '../../worker/secrets/key-vault.ts'
import type { Credential } from './connect.ts'

export async function openCredential(
  config: Config,
  clock: Clock,
  log: Log,
  keyVault: KeyVault | null,
): Promise<Credential> {
  const { appId, signIn, appSecret, identityClientId } = config
  if (appId === null) throw new MatoolkitError('WORKER_NOT_CONFIGURED', { problems: NO_APP })
  if (signIn === 'federated') return { federatedWith: { clientId: identityClientId } }
  if (signIn === 'certificate') return openCertificate(config, clock, log, keyVault)
  if (appSecret === null) {
    throw new MatoolkitError('WORKER_NOT_CONFIGURED', {
      problems: 'MATOOLKIT_SIGN_IN is "secret" and MATOOLKIT_APP_SECRET is not set.',
    })
  }
  log.warn('Signing in with a client secret, which is for tests: use a certificate')
  return { secret: appSecret }
}

/** The command line reads the same variable. */
const NO_APP =
  'MATOOLKIT_TENANT_ID is set and MATOOLKIT_APP_ID is not. A worker needs both; for people who sign in, unset it and run "matoolkit config set tenant-id".'

async function openCertificate(
  config: Config,
  clock: Clock,
  log: Log,
  keyVault: KeyVault | null,
): Promise<Credential> {
  const { certificateFile, certificateName } = config
  if (certificateFile === null && keyVault === null) {
    throw new MatoolkitError('WORKER_NOT_CONFIGURED', {
      problems:
        'MATOOLKIT_SIGN_IN is "certificate" and neither MATOOLKIT_CERTIFICATE_FILE nor MATOOLKIT_KEY_VAULT_URL is set.',
    })
  }
  const place = certificateFile ?? `the Key Vault under "${certificateName}"`
  const read = () => readFrom(config, keyVault)
  const opened = { name: 'the worker certificate', place, read, clock, log }
  const certificate = await openRotatingCertificate(opened).catch((error: unknown) => {
    const reason = messageOf(error)
    throw new MatoolkitError('WORKER_CERTIFICATE_UNUSABLE', { place, reason }, { cause: error })
  })
  return { certificate }
}

async function readFrom(config: Config, keyVault: KeyVault | null): Promise<SigningCertificate> {
  const { certificateFile, certificateName, certificatePassword } = config
  const bytes =
    certificateFile === null
      ? await certificateIn(keyVault!, certificateName)
      : await readFile(certificateFile)
  return readCertificate({ bytes, password: certificatePassword ?? '' })
}

/** Key Vault stores a certificate's secret as PEM, or as PFX in base64. */
export async function certificateIn(keyVault: KeyVault, name: string): Promise<Buffer> {
  const found = await keyVault.read(name)
  if (found === null) throw new Error('the vault has no secret of that name')
  const isPem = found.contentType === 'application/x-pem-file'
  return Buffer.from(found.value, isPem ? 'utf8' : 'base64')
}

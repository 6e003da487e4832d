// How a worker with the transport `https` proves itself to the API: by its token, or by what it signs with the key of its certificate. Files are
// read again, so that a credential is replaced while the worker runs.
import { readFile } from 'node:fs/promises'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { readWorkerToken, WORKER_ASSERTION_TYPE } from '../../base/keys/worker-token.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import { httpsUrl } from '../../base/settings/kinds.ts'
import {
  assertionOf,
  readCertificate,
  type SigningCertificate,
} from '../../base/sign-in/certificate.ts'
import type { ApiAccess } from '../../bus/worker-gateway.ts'

type AccessConfig = Pick<
  Config,
  | 'apiUrl'
  | 'workerId'
  | 'workerToken'
  | 'workerTokenFile'
  | 'workerCertificateFile'
  | 'workerCertificatePassword'
>

export interface WorkerAccess {
  readonly workerId: string
  readonly access: ApiAccess
}

/** Half of what the API allows, so that a clock may be wrong by some minutes. */
const SIGNED_AGAIN_MS = 240_000

/** Throws WORKER_API_NOT_CONFIGURED. The credential is read once, so that a start with a wrong one fails at once. */
export async function workerAccess(config: AccessConfig, clock: Clock): Promise<WorkerAccess> {
  const { apiUrl, workerId } = config
  if (workerId === null) throw unset('MATOOLKIT_WORKER_ID is not set.')
  if (apiUrl === null) throw unset('MATOOLKIT_API_URL is not set.')
  // A token is never sent over plain http to another machine.
  if (httpsUrl('').read(apiUrl) === undefined)
    throw unset(`MATOOLKIT_API_URL is "${apiUrl}", which others could listen to: use https.`)
  const { origin } = new URL(apiUrl)
  const given = [config.workerToken, config.workerTokenFile, config.workerCertificateFile]
  if (given.filter((one) => one !== null).length !== 1)
    throw unset(
      'not exactly one of MATOOLKIT_WORKER_TOKEN_FILE, MATOOLKIT_WORKER_TOKEN and MATOOLKIT_WORKER_CERTIFICATE_FILE is set.',
    )
  const token =
    config.workerCertificateFile === null
      ? byToken(config)
      : signing(config, { workerId, origin, clock })
  await token(false)
  return { workerId, access: { apiUrl: origin, token } }
}

const unset = (problem: string) => new MatoolkitError('WORKER_API_NOT_CONFIGURED', { problem })

function byToken({ workerToken, workerTokenFile }: AccessConfig): ApiAccess['token'] {
  let known: string | null = null
  return async (isRefused) => {
    if (known !== null && !isRefused) return known
    try {
      const text = workerToken ?? (await contentOf(workerTokenFile!, 'MATOOLKIT_WORKER_TOKEN_FILE'))
      known = requireToken(text.toString().trim())
    } catch (error) {
      // It is being replaced.
      if (known === null) throw error
    }
    return known
  }
}

function requireToken(token: string): string {
  if (readWorkerToken(token) !== null) return token
  throw unset('the token is none that "matoolkit worker credential create" has shown.')
}

interface Signer {
  readonly workerId: string
  readonly origin: string
  readonly clock: Clock
}

function signing(config: AccessConfig, { workerId, origin, clock }: Signer): ApiAccess['token'] {
  let known: SigningCertificate | null = null
  let signed: { readonly text: string; readonly atMs: number } | null = null
  return async (isRefused) => {
    const now = clock.now()
    if (signed !== null && !isRefused && +now - signed.atMs < SIGNED_AGAIN_MS) return signed.text
    try {
      known = await certificateOf(config)
    } catch (error) {
      // It is being replaced.
      if (known === null) throw error
    }
    const to = { clientId: workerId, audience: origin, now, type: WORKER_ASSERTION_TYPE }
    signed = { text: await assertionOf(known, to), atMs: +now }
    return signed.text
  }
}

async function certificateOf({
  workerCertificateFile: file,
  workerCertificatePassword: password,
}: AccessConfig): Promise<SigningCertificate> {
  const bytes = await contentOf(file!, 'MATOOLKIT_WORKER_CERTIFICATE_FILE')
  return readCertificate({ bytes, password: password ?? '' }).catch((error: unknown) => {
    throw unset(`MATOOLKIT_WORKER_CERTIFICATE_FILE is unusable: ${messageOf(error)}.`)
  })
}

async function contentOf(file: string, setting: string): Promise<Buffer> {
  return readFile(file).catch((error: unknown) => {
    throw unset(`${setting} cannot be read: ${messageOf(error)}.`)
  })
}

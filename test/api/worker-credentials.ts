// Credentials of workers, made through the API under test.
import assert from 'node:assert/strict'
import { WORKER_ASSERTION_TYPE } from '../../src/base/keys/worker-token.ts'
import { assertionOf, readCertificate } from '../../src/base/sign-in/certificate.ts'
import { rsaCertificate } from '../kit/rsa-certificate.ts'
import type { ApiUnderTest, CallOptions } from './under-test.ts'

export interface MadeCredential {
  readonly id: string
  readonly token: string
}

export async function newTokenOf(
  api: ApiUnderTest,
  workerId: string,
  options: Pick<CallOptions, 'token'> = {},
): Promise<MadeCredential> {
  const made = await api.call<{ credential: { id: string }; token: string }>(
    'POST',
    `/api/workers/${workerId}/credentials`,
    { ...options, body: {} },
  )
  assert.equal(made.status, 201, made.text)
  return { id: made.body.credential.id, token: made.body.token }
}

/** Registers a new certificate, and returns what the worker signs with it. */
export async function newAssertionOf(
  api: ApiUnderTest,
  workerId: string,
  options: Pick<CallOptions, 'token'> = {},
): Promise<string> {
  const { keyPem, certPem } = rsaCertificate()
  const made = await api.call('POST', `/api/workers/${workerId}/credentials`, {
    ...options,
    body: { certificate: certPem, address: api.url },
  })
  assert.equal(made.status, 201, made.text)
  const certificate = await readCertificate({
    bytes: Buffer.from(keyPem + certPem),
    password: '',
  })
  const to = { clientId: workerId, audience: api.url, type: WORKER_ASSERTION_TYPE }
  return assertionOf(certificate, { ...to, now: api.world.clock.now() })
}

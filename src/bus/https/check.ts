// Proves a worker's way through the API: it answers, takes the credential, and the credential is this worker's. Takes no job.

import { messageOf } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { ApiAccess } from '../worker-gateway.ts'
import { ApiCalls } from './api-calls.ts'

export interface ApiCheck {
  readonly name: string
  readonly state: 'ok' | 'failed'
  readonly about: string
  readonly advice: string
}

interface OwnWorker {
  readonly workerId: string
  readonly credentialId: string
  readonly kind: string
  readonly endsAt: string
  readonly now: string
}

const DAY_MS = 24 * 3_600_000
const ENDS_SOON_DAYS = 14
/** What the API tolerates of a signed statement. */
const SKEW_MAX_MS = 60_000

export async function checkThroughApi(
  access: ApiAccess,
  workerId: string,
  clock: Clock,
): Promise<ApiCheck[]> {
  let own: OwnWorker
  try {
    own = await new ApiCalls(access).get('/api/worker', { signal: new AbortController().signal })
  } catch (error) {
    const advice = 'Check MATOOLKIT_API_URL, the proxy, and "matoolkit worker credential list".'
    return [failed('API', messageOf(error), advice)]
  }
  const skewMs = Math.abs(+clock.now() - +new Date(own.now))
  const daysLeft = Math.floor((+new Date(own.endsAt) - +new Date(own.now)) / DAY_MS)
  const until = `${own.kind} ${own.credentialId}, valid until ${own.endsAt}`
  return [
    ok('API', access.apiUrl),
    daysLeft >= ENDS_SOON_DAYS
      ? ok('credential', until)
      : failed('credential', until, `Run "matoolkit worker credential rotate ${own.workerId}".`),
    own.workerId === workerId
      ? ok('worker', workerId)
      : failed(
          'worker',
          `the credential is of "${own.workerId}", not of "${workerId}"`,
          'Set MATOOLKIT_WORKER_ID or the credential right.',
        ),
    skewMs <= SKEW_MAX_MS
      ? ok('clock', `${skewMs} ms from the API's`)
      : failed('clock', `${Math.round(skewMs / 1_000)} s from the API's`, 'Set the clock by NTP.'),
  ]
}

const ok = (name: string, about: string): ApiCheck => ({ name, state: 'ok', about, advice: '' })
const failed = (name: string, about: string, advice: string): ApiCheck => ({
  name,
  state: 'failed',
  about,
  advice,
})

// Before a local token leaves this process: the other end proves that it has the same token. Until then it gets a random number only.
import { MatoolkitError } from '../../base/errors/errors.ts'
import { isLocalProof, isLoopback, localProof, randomText } from '../../base/keys/local-token.ts'
import { fetchFault } from '../../base/run/fetch-fault.ts'
import { readJson } from '../../base/run/read-answer.ts'

const TIMEOUT_MS = 60_000
const ANSWER_BYTES_MAX = 10_000

/** Throws API_UNPROVEN or API_UNREACHABLE. */
export async function requireProof(apiUrl: string, token: string): Promise<void> {
  const { origin, hostname } = new URL(apiUrl)
  // Two processes may listen there, one per address, and the proof of one would do for the other.
  if (hostname === 'localhost') {
    const reason = 'the name may lead to two processes. Write 127.0.0.1 instead of localhost'
    throw new MatoolkitError('API_UNPROVEN', { url: apiUrl, reason })
  }
  const nonce = randomText()
  const proof = await proofFrom(apiUrl, `${origin}/api/sign-in/proof?nonce=${nonce}`)
  if (proof !== null && isLocalProof(proof, localProof(token, origin, nonce))) return
  const reason =
    'the process there does not know the token. If you have just restarted it, read the token again; else another program has its port: stop that program'
  throw new MatoolkitError('API_UNPROVEN', { url: apiUrl, reason })
}

/** Null if something else answers. */
async function proofFrom(apiUrl: string, url: string): Promise<string | null> {
  let response: Response
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    response = await fetch(url, { redirect: 'error', signal })
  } catch (error) {
    const details = { url: apiUrl, reason: fetchFault(error) }
    throw new MatoolkitError('API_UNREACHABLE', details, { cause: error })
  }
  const body = (await readJson(response, ANSWER_BYTES_MAX).catch(() => null)) as {
    proof?: unknown
  } | null
  return typeof body?.proof === 'string' ? body.proof : null
}

export const isOnThisMachine = (apiUrl: string): boolean => isLoopback(new URL(apiUrl).hostname)

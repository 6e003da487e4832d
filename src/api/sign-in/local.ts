// Local sign-in: a random token in a file that only its owner can read. The token grants everything, so the API listens on the
// loopback only and checks the Host header against DNS rebinding (a web page whose name resolves to 127.0.0.1).
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { MatoolkitError } from '../../errors.ts'
import { refuseToken, type SignInMethod } from './sign-in.ts'

const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

export function localSignIn(file: string): SignInMethod {
  const expected = digest(tokenIn(file))
  const { username } = userInfo()
  const actor = {
    id: `local/${username}`,
    name: username,
    roles: ['Admin'],
    clientApp: null,
  } as const
  return {
    mode: 'local',
    authenticate: async (token) => {
      if (!timingSafeEqual(digest(token), expected))
        return refuseToken('it is not the token in the local token file')
      return { actor, lacks: null, tokenEndsAt: null }
    },
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Reads the token, creating it first if the file does not exist. */
function tokenIn(file: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  try {
    // Fails if the file exists, so two processes that start at once agree on one token.
    writeFileSync(file, randomBytes(TOKEN_BYTES).toString('base64url'), { flag: 'wx', mode: 0o600 })
    // The umask may have narrowed the mode; this makes it exact.
    chmodSync(file, 0o600)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
  const othersMayRead = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
  const token = readFileSync(file, 'utf8').trim()
  if (othersMayRead || !TOKEN.test(token)) throw new MatoolkitError('LOCAL_TOKEN_UNFIT', { file })
  return token
}

export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)

/** Throws HOST_REFUSED unless the Host header names the loopback. */
export function requireLocalHost(host: string | undefined): void {
  const name = (host ?? '').replace(/:\d{1,5}$/, '')
  if (!isLoopback(name)) throw new MatoolkitError('HOST_REFUSED', { host: name.slice(0, 100) })
}

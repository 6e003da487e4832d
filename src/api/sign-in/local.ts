// Local sign-in: a random token in a file that only its owner can read, while the API runs. The token grants everything, so the API
// listens on the loopback only and checks the Host header against DNS rebinding (a web page whose name resolves to 127.0.0.1).
import { createHash, timingSafeEqual } from 'node:crypto'
import { rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { MatoolkitError } from '../../base/errors/errors.ts'
import {
  readPrivateFile,
  requirePrivateFolder,
  writePrivateFile,
} from '../../base/files/private-files.ts'
import {
  isLocalToken,
  isLoopback,
  localProof,
  randomText,
  secondToken,
} from '../../base/keys/local-token.ts'
import { joinShare } from '../../db/connection/folder-lock.ts'
import { type Actor, refuseToken, type SignInMethod } from './sign-in.ts'

/** Throws LOCAL_TOKEN_UNFIT or FOLDER_UNSAFE. */
export function localSignIn(file: string): SignInMethod {
  const { token: own, leave } = openToken(file)
  const { username } = userInfo()
  const person = (id: string, name: string): Actor => ({
    id,
    name,
    roles: ['Admin'],
    clientApp: null,
  })
  const people = [
    [digest(own), person(`local/${username}`, username)],
    [digest(secondToken(own)), person(`local/${username}/second`, `${username}, second person`)],
  ] as const
  return {
    mode: 'local',
    authenticate: async (token) => {
      const given = digest(token)
      const [found] = people.filter(([expected]) => timingSafeEqual(given, expected))
      if (!found) return refuseToken('it is not the token in the local token file')
      return { actor: found[1], lacks: null, tokenEndsAt: null }
    },
    prove: (origin, nonce) => localProof(own, origin, nonce),
    close: leave,
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Another process may leave, and remove the file, between our joining and reading. */
const ATTEMPTS = 5

/**
 * A new token, unless another process uses the file right now: several APIs with one file share its token. The last one to stop
 * removes it; after a crash the next start replaces it.
 */
function openToken(file: string): { token: string; leave: () => void } {
  requirePrivateFolder(dirname(file), { setting: 'MATOOLKIT_API_TOKEN_FILE', mayBeListed: true })
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const leave = joinShare(`${file}.lock`, {
      first: () => writePrivateFile(file, randomText()),
      last: () => rmSync(file, { force: true }),
    })
    const token = readPrivateFile(file)?.trim() ?? ''
    if (isLocalToken(token)) return { token, leave }
    leave()
  }
  throw new MatoolkitError('LOCAL_TOKEN_UNFIT', { file })
}

/** Throws HOST_REFUSED unless the Host header names the loopback. */
export function requireLocalHost(host: string | undefined): void {
  const name = (host ?? '').replace(/:\d{1,5}$/, '')
  if (!isLoopback(name)) throw new MatoolkitError('HOST_REFUSED', { host: name.slice(0, 100) })
}

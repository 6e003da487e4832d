// Stores sign-ins in one file of the user's folder, encrypted with a key from the system keyring. Without a keyring the file is plain,
// readable by its owner only, and `auth status` says so. The keyring holds the key, not the tokens: tokens of Entra ID are too long
// for some keyrings.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Clock } from '../../base/run/clock.ts'
import {
  homeFolder,
  inHome,
  readJsonFile,
  removeFile,
  requireHomeFolder,
  writeJsonFile,
} from '../connection/home.ts'
import type { GrantedToken } from './issuer.ts'
import { type Keyring, openKeyring } from './keyring.ts'
import type { Registration } from './registration.ts'

export type StoredSignIn = Registration & GrantedToken

type SignIns = Readonly<Record<string, StoredSignIn>>
/** The file, plain or encrypted. */
type SignInFile = { readonly plain: SignIns } | { readonly sealed: string }

const FILE = 'sign-ins.json'
const LOCK = 'sign-ins.lock'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

const file = (): string => inHome(FILE)

/** Each home folder has its own key. */
const keyring = (): Keyring | null =>
  openKeyring(createHash('sha256').update(homeFolder()).digest('hex').slice(0, 16))

/** Sign-ins belong to a profile and an API: a token is never sent to another API. */
export const signInKey = (profile: string, apiUrl: string): string => `${profile} ${apiUrl}`

export async function readSignIn(key: string): Promise<StoredSignIn | null> {
  const all = await readAll()
  return Object.hasOwn(all, key) ? all[key]! : null
}

export async function saveSignIn(key: string, signIn: StoredSignIn): Promise<void> {
  await writeAll({ ...(await readAll()), [key]: signIn })
}

export async function removeSignIn(key: string): Promise<void> {
  const { [key]: gone, ...others } = await readAll()
  if (!gone) return
  if (Object.keys(others).length > 0) return writeAll(others)
  removeFile(file())
  await keyring()?.remove()
}

/** Where sign-ins are stored, in words; null if there are none. */
export function storageText(): string | null {
  const content = readJsonFile(file()) as SignInFile | undefined
  if (!content) return null
  return 'sealed' in content
    ? `${file()}, encrypted with a key in ${keyring()?.name ?? 'a keyring'}`
    : `${file()}, readable by you only; this machine has no keyring`
}

/** Empty if the keyring is locked or has lost the key: the user signs in again. */
async function readAll(): Promise<SignIns> {
  const content = readJsonFile(file()) as Partial<Record<string, unknown>> | undefined
  if (typeof content?.sealed === 'string') {
    const key = await keyring()?.read()
    return (key && unseal(content.sealed, key)) || {}
  }
  return typeof content?.plain === 'object' && content.plain !== null
    ? (content.plain as SignIns)
    : {}
}

async function writeAll(signIns: SignIns): Promise<void> {
  const key = await keyFor(keyring())
  const content: SignInFile = key ? { sealed: seal(signIns, key) } : { plain: signIns }
  writeJsonFile(file(), content)
}

async function keyFor(ring: Keyring | null): Promise<string | null> {
  const known = await ring?.read()
  if (known && Buffer.from(known, 'base64url').length === KEY_BYTES) return known
  const made = randomBytes(KEY_BYTES).toString('base64url')
  return (await ring?.write(made)) ? made : null
}

function seal(signIns: SignIns, key: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64url'), nonce)
  const text = Buffer.concat([cipher.update(JSON.stringify(signIns), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
}

/** Null if it was encrypted with another key or altered. */
function unseal(sealed: string, key: string): SignIns | null {
  const bytes = Buffer.from(sealed, 'base64url')
  const tagAt = NONCE_BYTES + TAG_BYTES
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const opening = createDecipheriv('aes-256-gcm', Buffer.from(key, 'base64url'), nonce)
    opening.setAuthTag(bytes.subarray(NONCE_BYTES, tagAt))
    const text = Buffer.concat([opening.update(bytes.subarray(tagAt)), opening.final()])
    return JSON.parse(text.toString('utf8')) as SignIns
  } catch {
    return null
  }
}

/** Longer than any request to an issuer: an older lock, of a machine with the same home, is abandoned. */
const LOCK_MAX_MS = 120_000
const LOCK_POLL_MS = 100

/**
 * One process at a time: an issuer may rotate refresh tokens, and treats a second use of the old one as theft, which ends the
 * sign-in.
 */
export async function withSignInLock<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const lock = inHome(LOCK)
  requireHomeFolder()
  for (let waitedMs = 0; !take(lock); waitedMs += LOCK_POLL_MS) {
    if (waitedMs >= LOCK_MAX_MS || isAbandoned(lock)) removeFile(lock)
    else await clock.wait(LOCK_POLL_MS)
  }
  try {
    return await work()
  } finally {
    removeFile(lock)
  }
}

function take(lock: string): boolean {
  try {
    writeFileSync(lock, `${hostname()} ${process.pid}`, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Whether the lock belongs to a process of this machine that no longer runs. */
function isAbandoned(lock: string): boolean {
  try {
    const [host, pid] = readFileSync(lock, 'utf8').split(' ')
    if (host !== hostname() || pid === undefined) return false
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

// The keys that sign jobs. They lie outside the database, so write access to its tables is not enough to make a worker act: a worker
// that has keys runs a job only if its text, byte for byte, was signed with one of them.
import {
  createHmac,
  createSecretKey,
  hash,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { MatoolkitError, messageOf } from '../errors/errors.ts'
import { requirePrivateFolder, writePrivateFile } from '../files/private-files.ts'
import type { Config } from '../settings/config.ts'
import { aKey } from '../settings/kinds.ts'

/** Why a worker refuses a job: words for machines, which become the reason of its dead letter. */
export const SIGNATURE_FAULTS = ['JobUnsigned', 'JobKeyUnknown', 'JobForged'] as const
export type SignatureFault = (typeof SIGNATURE_FAULTS)[number]

interface JobKey {
  /** Names the key without revealing it. */
  readonly id: string
  /** Made once: with the bytes themselves `createHmac` takes seven times as long. */
  readonly secret: KeyObject
}

/** So that a signature of ours never fits a text of another kind. */
const PURPOSE = 'matoolkit job 1\n'
const KEY_BYTES = 32
const ID_CHARS = 16
/** Others may not read it; nobody but the owner may change it. A group may read: that is how platforms mount secrets. */
const FORBIDDEN_MODE = 0o027
/** The last field of a signed body. Its length is fixed, so what precedes it is what was signed. */
const SIGNATURE = /^,"signature":"([0-9a-f]{16})\.([\w-]{43})"\}$/
const SIGNATURE_CHARS = ',"signature":"'.length + ID_CHARS + '.'.length + 43 + '"}'.length

export class JobKeys {
  readonly #keys: readonly JobKey[]

  /** The first key signs; all are accepted. */
  constructor(secrets: readonly [Buffer, ...Buffer[]]) {
    this.#keys = secrets.map(keyOf)
  }

  /** The ids of the keys, the signing one first. */
  get ids(): readonly string[] {
    return this.#keys.map(({ id }) => id)
  }

  /** A job's JSON text with its signature as the last field, which workers of others ignore. */
  sign(text: string): string {
    const key = this.#keys[0]!
    return `${text.slice(0, -1)},"signature":"${key.id}.${macOf(text, key)}"}`
  }

  /** Null when the text was signed with one of the keys. */
  faultIn(text: string): SignatureFault | null {
    const found = SIGNATURE.exec(text.slice(-SIGNATURE_CHARS))
    if (!found) return 'JobUnsigned'
    const [, id, given] = found
    const key = this.#keys.find((known) => known.id === id)
    if (!key) return 'JobKeyUnknown'
    const mac = macOf(`${text.slice(0, -SIGNATURE_CHARS)}}`, key)
    return timingSafeEqual(Buffer.from(mac), Buffer.from(given!)) ? null : 'JobForged'
  }
}

const keyOf = (secret: Buffer): JobKey => ({
  id: hash('sha256', `matoolkit job key id\n${secret.toString('hex')}`).slice(0, ID_CHARS),
  secret: createSecretKey(secret),
})

const macOf = (text: string, { secret }: JobKey): string =>
  createHmac('sha256', secret).update(PURPOSE).update(text).digest('base64url')

/** The keys of the settings, those in the environment first. Null without any: jobs are not signed. Throws JOB_KEY_UNUSABLE. */
export function readJobKeys({
  jobKeys,
  jobKeyFile,
}: Pick<Config, 'jobKeys' | 'jobKeyFile'>): JobKeys | null {
  const texts = [...jobKeys, ...(jobKeyFile === null ? [] : keysIn(jobKeyFile))]
  const [first, ...others] = texts.map((text) => Buffer.from(text, 'base64'))
  return first ? new JobKeys([first, ...others]) : null
}

function keysIn(file: string): string[] {
  const unusable = (reason: string, cause?: unknown) =>
    new MatoolkitError('JOB_KEY_UNUSABLE', { file: resolve(file), reason }, { cause })
  let lines: string[]
  try {
    const mode = statSync(file).mode & 0o777
    if (process.getuid && (mode & FORBIDDEN_MODE) !== 0)
      throw new Error(`other users can use it (mode ${mode.toString(8)}); run chmod 600 on it`)
    lines = readFileSync(file, 'utf8').split(/\s+/).filter(Boolean)
  } catch (error) {
    throw unusable(messageOf(error), error)
  }
  if (lines.length === 0) throw unusable('it is empty')
  const wrong = lines.findIndex((line) => aKey.read(line) === undefined)
  if (wrong >= 0) throw unusable(`key ${wrong + 1} is not ${aKey.mustBe}`)
  return lines
}

/** The file with the key of a process that has all roles: created at its first start, private from the first moment. */
export function ownJobKeyFile(folder: string): string {
  requirePrivateFolder(folder, { setting: 'MATOOLKIT_SECRETS_FOLDER' })
  const file = join(folder, 'job-key')
  if (!existsSync(file)) writePrivateFile(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`)
  return file
}

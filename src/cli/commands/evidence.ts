// `matoolkit evidence …`: check an evidence pack without an API, and show the key that signs packs.
import { createPublicKey, type KeyObject } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import type { Command } from 'commander'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { readStart, requireReplaceable, writeNewFile } from '../input/files.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { openShow } from '../terminal/output.ts'
import type { OutputFormat } from '../terminal/show.ts'
import { addVerb, outputOption } from './verb.ts'

const KEY_BYTES_MAX = 10_000

interface VerifyFlags {
  readonly key?: string
  readonly fingerprint?: string
  readonly output?: OutputFormat
}

export function addEvidenceCommands(program: Command, io: Io): void {
  const noun = program.command('evidence').description('check evidence packs and their key')
  noun
    .command('verify')
    .description('check an evidence pack offline')
    .argument('<file>', 'path of the pack')
    .option('--key <file>', 'public key that must have signed it')
    .option('--fingerprint <hash>', 'fingerprint of that key')
    .addOption(outputOption())
    .addHelpText('after', VERIFY_HELP)
    .action((file: string, flags: VerifyFlags) => verifyFile(file, flags, io))
  addVerb(noun, io, {
    name: 'key',
    about: 'show the key that signs packs',
    options: [
      ['--out <path>', 'also write the public key to this file'],
      ['--force', 'replace an existing file'],
    ],
    more: 'Give the fingerprint to those who will check packs, on another way than the packs.',
    examples: ['evidence key', 'evidence key --out evidence-key.pem'],
    run: showKey,
  })
}

const VERIFY_HELP = `
Needs neither an API nor a database. It checks the signature, every file against its hash and count, the chain of the audit, and that nothing
is missing or added. Without --key or --fingerprint any key will do, and the verdict says so.

Exit code: 0 intact, 1 not intact, 2 wrong usage or an unreadable file.

Examples:
  $ matoolkit evidence verify batch-7-evidence.tar.gz --key evidence-key.pem
  $ matoolkit evidence verify batch-7-evidence.tar.gz`

async function verifyFile(
  file: string,
  { key, fingerprint, output }: VerifyFlags,
  io: Io,
): Promise<void> {
  const named = await namedKey(key, fingerprint)
  requireReadable(file)
  const { verifyPack } = await import('../../api/evidence/verify-pack.ts')
  const { sayVerdict, VERDICT, verdictRow } = await import('./evidence-verdict.ts')
  const verdict = await verifyPack(createReadStream(file), named)
  await openShow(output, io).one(verdictRow(file, verdict, named), VERDICT)
  sayVerdict(io, verdict, named)
}

function requireReadable(file: string): void {
  try {
    if (statSync(file).isFile()) return
  } catch (error) {
    throw usageError(`Cannot read "${file}": ${messageOf(error)}.`)
  }
  throw usageError(`"${file}" is no file.`)
}

async function namedKey(
  file: string | undefined,
  fingerprint: string | undefined,
): Promise<string | null> {
  if (file !== undefined && fingerprint !== undefined)
    throw usageError('Use either --key or --fingerprint.')
  if (fingerprint !== undefined) {
    const hash = fingerprint.replaceAll(':', '').toLowerCase()
    if (/^[0-9a-f]{64}$/.test(hash)) return hash
    throw usageError(
      `--fingerprint is "${fingerprint}", but must be the 64 hex digits that "matoolkit evidence key" shows.`,
    )
  }
  if (file === undefined) return null
  const { fingerprintOf } = await import('../../api/evidence/signing-key.ts')
  return fingerprintOf(publicKeyIn(file, await readStart(file, KEY_BYTES_MAX)))
}

function publicKeyIn(file: string, bytes: Uint8Array): KeyObject {
  let reason: string
  try {
    const key = createPublicKey(Buffer.from(bytes))
    if (key.asymmetricKeyType === 'ed25519') return key
    reason = `it is a key of type ${key.asymmetricKeyType}`
  } catch (error) {
    reason = `it holds no public key: ${messageOf(error)}`
  }
  throw new MatoolkitError('FILE_UNREADABLE', { file, reason })
}

async function showKey(
  { client, show }: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const key = await client.call('GET /api/evidence/key')
  const file = textFlag(flags, 'out')
  if (file !== undefined) {
    requireReplaceable(file, flags.force === true)
    await writeNewFile(file, key.publicKey, flags.force === true)
  }
  await show.one(key, [
    ['fingerprint', 'fingerprint'],
    ['key', 'publicKey'],
  ])
}

// `matoolkit audit …`: who did what, and whether that record is whole. A chain of hashes cannot show by itself that its newest
// rows were cut off; with the head of an earlier check it can, so a check keeps its head and a later one takes it.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import { EXIT, MatoolkitError } from '../../errors.ts'
import {
  type CommandContext,
  type Flags,
  showPages,
  textFlag,
  usageError,
} from '../command-context.ts'
import { readTextFile } from '../files.ts'
import type { Io } from '../terminal/io.ts'
import type { Column, Row } from '../terminal/show.ts'
import { addVerb, PAGED } from './verb.ts'

const ENTRIES: readonly Column[] = [
  ['ID', 'id'],
  ['AT', 'at'],
  ['WHO', 'actorName'],
  ['DID', 'action'],
  ['TO', 'subject'],
  ['SEALED', 'isSealed', 'spare'],
  ['REASON', 'reason'],
]
const VERDICT: readonly Column[] = [
  ['chain', ({ broken }) => (broken ? 'broken' : 'ok')],
  ['broken at', 'broken.sealNumber'],
  ['row', 'broken.id'],
  ['because', 'broken.why'],
  ['sealed rows', 'head.sealed'],
  ['not sealed yet', 'unsealed'],
  ['head', 'head.hash'],
]
const FILTERS = ['actor', 'action', 'subject', 'from', 'before'] as const

export function addAuditCommands(program: Command, io: Io): void {
  const noun = program.command('audit').description('see who did what')
  addVerb(noun, io, {
    name: 'list',
    about: 'list what people did, newest first',
    options: [
      ['--actor <id>', 'of this person or application'],
      ['--action <name>', 'of this kind, such as batch.cancel'],
      ['--subject <text>', 'to this, such as "batch 7"'],
      ['--from <time>', 'from this time on, such as 2030-03-01T20:00:00Z'],
      ['--before <time>', 'before this time'],
      ...PAGED,
    ],
    examples: ['audit list --subject "batch 7"', 'audit list --all --output csv > audit.csv'],
    run: (context, _, flags) =>
      showPages(context, {
        path: '/api/audit',
        query: Object.fromEntries(FILTERS.map((name) => [name, textFlag(flags, name)])),
        rows: 'entries',
        columns: ENTRIES,
        empty: 'Nobody did anything.',
      }),
  })
  addVerb(noun, io, {
    name: 'verify',
    about: 'check that nothing in the audit was changed, added or cut off',
    options: [
      ['--against <file>', 'also that it goes on from an earlier check, kept as JSON'],
      ['--sealed <number>', 'likewise, from a head that was noted: its number of rows'],
      ['--hash <text>', 'and its hash'],
    ],
    more: `Keep what it says, where those cannot reach it who can reach the database: only with an earlier head can a check show that
the newest rows were cut off.

Exit code: 0 the chain holds, 1 it is broken.`,
    examples: ['audit verify', 'audit verify --output json > audit-head.json'],
    run: verify,
  })
}

async function verify(context: CommandContext, _: readonly string[], flags: Flags): Promise<void> {
  const known = await knownHead(flags)
  const { body } = await context.client.get<Row>('/api/audit/verification', known)
  await context.show.one(body as Json, VERDICT)
  if (body.broken) context.io.exitCode = EXIT.failed
}

/** The head of an earlier check. Half of one is refused: a check without it would seem to have been made with it. */
async function knownHead(flags: Flags): Promise<{ sealed?: string; hash?: string }> {
  const file = textFlag(flags, 'against')
  const [sealed, hash] = [textFlag(flags, 'sealed'), textFlag(flags, 'hash')]
  if (file !== undefined) {
    if (sealed ?? hash) throw usageError('Give either --against, or --sealed and --hash.')
    return headIn(file, await readTextFile(file))
  }
  if ((sealed === undefined) !== (hash === undefined)) {
    throw usageError('--sealed and --hash belong together: both are the head of an earlier check.')
  }
  return sealed === undefined || hash === undefined ? {} : { sealed, hash }
}

function headIn(file: string, text: string): { sealed: string; hash: string } {
  try {
    const { head } = JSON.parse(text) as { head: { sealed: unknown; hash: unknown } }
    if (Number.isSafeInteger(head.sealed) && typeof head.hash === 'string') {
      return { sealed: String(head.sealed), hash: head.hash }
    }
  } catch {
    // Said below, in the same words as for JSON of another kind.
  }
  const reason = 'it is not what "matoolkit audit verify --output json" says'
  throw new MatoolkitError('FILE_UNREADABLE', { file, reason })
}

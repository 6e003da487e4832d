// `matoolkit audit …`: who did what, and whether the record is intact. A hash chain alone does not reveal that its newest rows were
// cut off; compared with the head of an earlier check it does.

import type { Command } from 'commander'
import type { Answer, ListedRow } from '../../api/client/endpoints.ts'
import { EXIT, MatoolkitError } from '../../base/errors/errors.ts'
import { readTextFile } from '../input/files.ts'
import { timeFlag } from '../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  showPages,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { addVerb, PAGED } from './verb.ts'

const ENTRIES: readonly Column<ListedRow<'GET /api/audit'>>[] = [
  ['ID', 'id'],
  ['AT', 'at'],
  ['WHO', 'actorName'],
  ['DID', 'action'],
  ['TO', 'subject'],
  ['SEALED', 'isSealed', 'spare'],
  ['REASON', 'reason'],
]
type Verdict = Answer<'GET /api/audit/verification'>

const VERDICT: readonly Column<Verdict>[] = [
  ['chain', ({ broken }) => (broken ? 'broken' : 'ok')],
  ['broken at', 'broken.sealNumber'],
  ['row', 'broken.id'],
  ['because', 'broken.why'],
  ['sealed rows', 'head.sealed'],
  ['not sealed yet', 'unsealed'],
  ['pruned', ({ pruned }) => prunedText(pruned)],
  ['head', 'head.hash'],
]

const prunedText = (pruned: Verdict['pruned']): string | null =>
  pruned &&
  `rows 1 to ${pruned.through}, on ${pruned.at}${pruned.before === null ? '' : `: older than ${pruned.before}`}`

export function addAuditCommands(program: Command, io: Io): void {
  const noun = program.command('audit').description('inspect and verify the audit log')
  addVerb(noun, io, {
    name: 'list',
    about: 'list actions, newest first',
    options: [
      ['--actor <id>', 'only by this person or application'],
      ['--action <name>', 'only this action, such as batch.cancel'],
      ['--subject <text>', 'only on this subject, such as "batch 7"'],
      ['--reads', 'also who looked at personal data'],
      ['--from <time>', 'from this time, such as -2h or 22:30'],
      ['--before <time>', 'before this time'],
      ...PAGED,
    ],
    examples: ['audit list --subject "batch 7"', 'audit list --all --output csv > audit.csv'],
    run: (context, _, flags) =>
      showPages(context, 'GET /api/audit', {
        given: {
          query: {
            reads: flags.reads === true || textFlag(flags, 'action')?.startsWith('read ') === true,
            actor: textFlag(flags, 'actor'),
            action: textFlag(flags, 'action'),
            subject: textFlag(flags, 'subject'),
            from: timeFlag(context, flags, 'from'),
            before: timeFlag(context, flags, 'before'),
          },
        },
        columns: ENTRIES,
        empty: 'No audit entries match.',
      }),
  })
  addVerb(noun, io, {
    name: 'verify',
    about: 'check that the audit is intact',
    options: [
      ['--against <file>', 'compare with an earlier check, or a file of heads'],
      ['--sealed <number>', 'compare with a noted head: its number of rows'],
      ['--hash <text>', 'compare with a noted head: its hash'],
    ],
    more: `Detects changed, added and removed rows. Keep the output out of reach of database administrators: a check notices that the
newest rows were cut off only when it is compared with an earlier one.

Exit code: 0 the chain is intact, 1 it is broken.`,
    examples: ['audit verify', 'audit verify --output json > audit-head.json'],
    run: verify,
  })
}

async function verify(context: CommandContext, _: readonly string[], flags: Flags): Promise<void> {
  const query = await earlierHead(flags)
  const verdict = await context.client.call('GET /api/audit/verification', { query })
  await context.show.one(verdict, VERDICT)
  if (verdict.broken) context.io.exitCode = EXIT.failed
}

/** The head of an earlier check. Half a head is refused: otherwise the check would silently ignore it. */
async function earlierHead(flags: Flags): Promise<{ sealed?: string; hash?: string }> {
  const file = textFlag(flags, 'against')
  const [sealed, hash] = [textFlag(flags, 'sealed'), textFlag(flags, 'hash')]
  if (file !== undefined) {
    if (sealed ?? hash) throw usageError('Use either --against, or --sealed with --hash.')
    return headIn(file, await readTextFile(file))
  }
  if ((sealed === undefined) !== (hash === undefined)) {
    throw usageError(
      'Use --sealed and --hash together: both belong to the head of an earlier check.',
    )
  }
  return sealed === undefined || hash === undefined ? {} : { sealed, hash }
}

/** A check is one JSON text; MATOOLKIT_AUDIT_HEADS_FILE has a line per head, the newest last. */
function lastJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return JSON.parse(text.trimEnd().split('\n').at(-1)!)
  }
}

function headIn(file: string, text: string): { sealed: string; hash: string } {
  try {
    const { head } = lastJson(text) as { head: { sealed: unknown; hash: unknown } }
    if (Number.isSafeInteger(head.sealed) && typeof head.hash === 'string') {
      return { sealed: String(head.sealed), hash: head.hash }
    }
  } catch {
    // Reported below, as for JSON of another shape.
  }
  const reason =
    'it is neither output of "matoolkit audit verify --output json" nor a file of heads'
  throw new MatoolkitError('FILE_UNREADABLE', { file, reason })
}

// `matoolkit batch export`: what people take away from a batch, in a file: a report, a page for the night, or everything, signed.
import { choiceFlag } from '../../program/command-context.ts'
import type { RunCommand, Verb } from '../verb.ts'

const KINDS = ['report', 'run-sheet', 'evidence'] as const

const RUN: Readonly<Record<(typeof KINDS)[number], RunCommand>> = {
  report: async (...given) => (await import('./report.ts')).runReport(...given),
  'run-sheet': async (...given) => (await import('./run-sheet.ts')).runRunSheet(...given),
  evidence: async (...given) => (await import('./evidence.ts')).runEvidence(...given),
}

export const EXPORT_VERB: Verb = {
  name: 'export',
  about: 'write a report, run sheet or evidence',
  args: [['<id>', 'id of the batch']],
  options: [
    ['--file <path>', 'file to write (default: by batch and kind); a report goes to stdout with -'],
    ['--force', 'replace an existing file'],
    ['--internal', 'add history, addresses and who did what to a report'],
  ],
  choices: [
    ['--as <kind>', 'what to write (default: report)', KINDS],
    ['--format <format>', 'format of a report (default: by file name)', ['html', 'csv', 'json']],
  ],
  more: `A report is a page (html), a line per member (csv), or everything (json). A run sheet is a page to print before the night, for the
hours in which the network is down: phases, gates, steps, commands, and every member with a box for each phase. Evidence is one signed archive that
"matoolkit evidence verify" checks without a network: members, steps, attempts, decisions, messages, versions, the last rehearsal and the audit.
Each names people: the file is readable by you only.

Exit code: 0 written, 1 evidence was damaged on the way.`,
  examples: [
    'batch export 7 --file wave-7.html --force',
    'batch export 7 --format csv --file -',
    'batch export 7 --as run-sheet',
    'batch export 7 --as evidence --file wave-7.tar.gz',
  ],
  run: (context, args, flags) =>
    RUN[choiceFlag(flags, 'as', KINDS) ?? 'report'](context, args, flags),
}

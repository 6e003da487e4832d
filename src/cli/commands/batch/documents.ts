// The commands that write what people take away from a batch: report, run sheet, evidence.
import type { Verb } from '../verb.ts'

const ID = ['<id>', 'id of the batch'] as const

export const DOCUMENT_VERBS: readonly Verb[] = [
  {
    name: 'report',
    about: 'write a report of a batch',
    args: [ID],
    options: [
      ['--file <path>', 'file to write, - for stdout (default: batch-{id}-report.html)'],
      ['--force', 'replace an existing file'],
      ['--internal', 'add history, addresses and who did what'],
    ],
    choices: [['--format <format>', 'format (default: by file name)', ['html', 'csv', 'json']]],
    more: `html is a page to read and print, csv has a line per member, json has everything.
The report names people: the file is readable by you only.`,
    examples: ['batch report 7 --file wave-7.html --force', 'batch report 7 --format csv --file -'],
    run: async (...given) => (await import('./report.ts')).runReport(...given),
  },
  {
    name: 'run-sheet',
    about: 'write a page to print before the night',
    args: [ID],
    options: [
      ['--out <path>', 'file to write (default: batch-{id}-run-sheet.html)'],
      ['--force', 'replace an existing file'],
    ],
    more: `Phases, gates, steps, commands, and every member with a box for each phase: for the hours in which the network is down.
It names people: the file is readable by you only.`,
    examples: ['batch run-sheet 7', 'batch run-sheet 7 --out wave-7.html --force'],
    run: async (...given) => (await import('./run-sheet.ts')).runRunSheet(...given),
  },
  {
    name: 'evidence',
    about: 'write everything about a batch, signed',
    args: [ID],
    options: [
      ['--out <path>', 'file to write (default: batch-{id}-evidence.tar.gz)'],
      ['--force', 'replace an existing file'],
    ],
    more: `Members, steps, attempts, decisions, messages, runbook versions, the last rehearsal and the audit, in one archive that
"matoolkit evidence verify" checks without a network. It names people: the file is readable by you only.
Exit code: 0 written and intact, 1 damaged on the way.`,
    examples: ['batch evidence 7', 'batch evidence 7 --out wave-7.tar.gz --force'],
    run: async (...given) => (await import('./evidence.ts')).runEvidence(...given),
  },
]

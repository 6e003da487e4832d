// `matoolkit runbook diff`: two versions, or a version and a file, line by line.

import { readTextFile } from '../../input/files.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { changesBetween, printDiff } from '../../terminal/text-diff.ts'
import { loadVersion } from './lists.ts'

export async function runDiff(
  { client, show, io }: CommandContext,
  [name, from, to]: readonly string[],
  flags: Flags,
): Promise<void> {
  const file = textFlag(flags, 'file')
  if (file !== undefined && to !== undefined)
    throw usageError('Use either a second version or --file.')
  if (file === undefined && from === undefined) {
    throw usageError('Name a version, two versions, or a file: --file <yaml>.')
  }
  const before = await loadVersion(client, name!, from)
  const after = file === undefined ? await loadVersion(client, name!, to) : null
  const beforeName = `${name} version ${before.version}`
  const afterName = after ? `${name} version ${after.version}` : file!
  const changes = changesBetween(
    before.yamlContent,
    after ? after.yamlContent : await readTextFile(file!),
  )
  if (show.format !== 'table') {
    const rows = changes.filter(({ kind }) => kind !== 'same').map((change) => ({ ...change }))
    return show.list({
      whole: { before: beforeName, after: afterName, changes: rows },
      rows,
      columns: [
        ['KIND', 'kind'],
        ['LINE', 'line'],
      ],
      empty: '',
    })
  }
  if (changes.every(({ kind }) => kind === 'same')) return io.out('No differences.')
  printDiff((line) => io.out(line), { changes, names: [beforeName, afterName] }, io)
}

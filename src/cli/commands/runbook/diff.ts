// `matoolkit runbook diff`: two versions, or a version and a file, line by line.

import { readTextFile } from '../../input/files.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import type { Column, Row } from '../../terminal/show.ts'
import { changesBetween, withContext } from '../../terminal/text-diff.ts'
import { versionPath } from './lists.ts'

export async function runDiff(
  { client, show, io }: CommandContext,
  [name, from, to]: readonly string[],
  flags: Flags,
): Promise<void> {
  const load = async (version: string | undefined) =>
    (await client.get<Row>(versionPath(name!, version))).body
  const file = textFlag(flags, 'file')
  if (file !== undefined && to !== undefined)
    throw usageError('Use either a second version or --file.')
  if (file === undefined && from === undefined) {
    throw usageError('Name a version, two versions, or a file: --file <yaml>.')
  }
  const before = await load(from)
  const after = file === undefined ? await load(to) : null
  const beforeName = `${name} version ${Number(before.version)}`
  const afterName = after ? `${name} version ${Number(after.version)}` : file!
  const changes = changesBetween(
    String(before.yamlContent),
    after ? String(after.yamlContent) : await readTextFile(file!),
  )
  if (show.format !== 'table') {
    const rows = changes.filter(({ kind }) => kind !== 'same').map((change) => ({ ...change }))
    const columns: Column[] = [
      ['KIND', 'kind'],
      ['LINE', 'line'],
    ]
    return show.list({
      whole: { before: beforeName, after: afterName, changes: rows },
      rows,
      columns,
      empty: '',
    })
  }
  if (changes.every(({ kind }) => kind === 'same')) return io.out('No differences.')
  io.out(io.paint('red', `--- ${beforeName}`))
  io.out(io.paint('green', `+++ ${afterName}`))
  for (const change of withContext(changes)) {
    if (change === null) io.out(io.paint('dim', '…'))
    else if (change.kind === 'same') io.out(` ${change.line}`)
    else if (change.kind === 'added') io.out(io.paint('green', `+${change.line}`))
    else io.out(io.paint('red', `-${change.line}`))
  }
}

// `matoolkit runbook validate --write`: shows what changes in each file, asks, and writes.

import { statSync } from 'node:fs'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { convertRunbook } from '../../../domain/runbook/convert.ts'
import type { ReadRunbookOptions } from '../../../domain/runbook/read.ts'
import { readTextFile, writeNewFile } from '../../input/files.ts'
import type { Io } from '../../terminal/io.ts'
import { confirm } from '../../terminal/prompt.ts'
import { changesBetween, printDiff } from '../../terminal/text-diff.ts'

export async function writeConversions(
  files: readonly string[],
  reading: ReadRunbookOptions,
  { yes }: { readonly yes?: true },
  io: Io,
): Promise<void> {
  const changed: { file: string; text: string }[] = []
  for (const file of files) {
    const before = await readTextFile(file)
    const { text } = convertRunbook(before, reading)
    if (text === before) continue
    changed.push({ file, text })
    const changes = changesBetween(before, text)
    printDiff((line) => io.err(line), { changes, names: [file, file] }, io)
  }
  if (changed.length === 0) return
  const what = `${countText(changed.length, 'file changes', 'files change')} as shown.`
  await confirm({ io, flags: { ...(yes && { yes }) } }, { what, members: 0 })
  for (const { file, text } of changed) {
    // A runbook names nobody: its team reads it as before.
    await writeNewFile(file, text, true, statSync(file).mode)
    io.err(printable(`Wrote ${file}.`))
  }
}

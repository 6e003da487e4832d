// The commands of a guide, each with the lines that the page says it shows.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { EXIT } from '../../src/base/errors/errors.ts'
import type { Said } from '../cli/against-api.ts'

/** The blocks of commands in a section of a page under docs/. */
export function blocksOf(page: string, section: string): string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  const [, found] = new RegExp(`^## ${section}\\n([\\s\\S]*?)^## `, 'm').exec(text) ?? []
  assert.ok(found, `${page} has a section "${section}"`)
  return [...found.matchAll(/```console\n([\s\S]*?)```/g)].map(([, block]) => block!)
}

/** Runs the commands of a block. Every line on the page must be shown; more may be. */
export async function follow(
  block: string,
  run: (args: readonly string[]) => Promise<Said>,
): Promise<void> {
  for (const command of block.split(/^\$ matoolkit /m).slice(1)) {
    const [line = '', ...shows] = command.trim().split('\n')
    const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)
    const { exit, out, err } = await run(args)
    assert.ok(exit === EXIT.ok || exit === EXIT.needed, `${line}\n${out}\n${err}`)
    const said = out.split('\n').map((text) => text.trimEnd())
    for (const shown of shows.map((text) => text.trimEnd()))
      assert.ok(said.includes(shown), `${line} says:\n${out}\nand not:\n${shown}`)
  }
}

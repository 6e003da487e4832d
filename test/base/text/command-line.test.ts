// Commands inside sentences: what is filled in stays one word in a shell.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commandLine } from '../../../src/base/text/command-line.ts'

describe('a command inside a sentence', () => {
  it('is what a person types', () => {
    assert.equal(commandLine`batch get ${7}`, 'matoolkit batch get 7')
    assert.equal(
      commandLine`review approve --all ${['--batch', 7]} --choice ${'move'}`,
      'matoolkit review approve --all --batch 7 --choice move',
    )
    assert.equal(
      commandLine`hold --batch ${7} --reason "…"`,
      'matoolkit hold --batch 7 --reason "…"',
    )
  })

  it('keeps a key from a data source one word, whatever it holds', () => {
    const line = (key: string) => commandLine`resume --member ${7} ${key}`
    assert.equal(line('ada@contoso.com'), 'matoolkit resume --member 7 ada@contoso.com')
    assert.equal(line('Ada Smith'), "matoolkit resume --member 7 'Ada Smith'")
    assert.equal(line('$(reboot)'), "matoolkit resume --member 7 '$(reboot)'")
    assert.equal(line("o'neil; ls"), String.raw`matoolkit resume --member 7 'o'\''neil; ls'`)
  })
})

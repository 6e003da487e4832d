import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { expectedText, GENERATED } from '../scripts/docs.ts'
import { readRunbook } from '../src/domain/runbook/read.ts'

const root = join(import.meta.dirname, '..')

describe('generated documents agree with the program', () => {
  for (const document of GENERATED) {
    it([document.file, document.section].filter(Boolean).join(': '), () => {
      const text = readFileSync(join(root, document.file), 'utf8')
      const advice = 'run: npm run docs'
      assert.equal(text, expectedText(document, text), `${document.file} is out of date; ${advice}`)
    })
  }

  it('a row missing from a document, or one too many, is noticed', () => {
    const document = { file: 'x.md', section: 'rows', render: () => 'a\nb' }
    const marked = (rows: string) =>
      `# Title\n<!-- generated: rows -->\n\n${rows}\n\n<!-- end of generated -->\nmore\n`
    assert.equal(expectedText(document, marked('a\nb')), marked('a\nb'))
    assert.notEqual(expectedText(document, marked('a')), marked('a'))
    assert.equal(expectedText(document, marked('a\nb\nc')), marked('a\nb'))
    assert.throws(() => expectedText(document, '# Title\n'), /x\.md needs the lines/)
  })
})

it('the runbook that the README shows is valid', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const [, yaml] = readme.match(/```yaml\n([\s\S]*?)```/)!
  assert.deepEqual(readRunbook(yaml!).problems, [])
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { expectedText } from '../../scripts/docs.ts'
import { FUNCTION_DOCUMENTS } from '../../scripts/docs-functions.ts'
import { STANDARD_FUNCTIONS } from '../../src/m365/functions/standard.ts'

const root = join(import.meta.dirname, '../..')

describe('the reference of functions', () => {
  for (const document of FUNCTION_DOCUMENTS) {
    it(`agrees with the program: ${document.file}, ${document.section ?? 'whole'}`, () => {
      const text = readFileSync(join(root, document.file), 'utf8')
      const advice = 'run: npm run docs'
      assert.equal(text, expectedText(document, text), `${document.file} is out of date; ${advice}`)
    })
  }
})

describe('every worker function', () => {
  for (const one of STANDARD_FUNCTIONS) {
    it(`${one.name} documents its permissions and how to undo it`, () => {
      assert.match(one.name, /^[A-Z][a-z]+-[A-Z]\w+$/)
      assert.match(one.description, /\.$/)
      const { graph = [], exchange = [] } = one.permissions
      assert.ok(graph.length + exchange.length > 0, 'permissions')
      if (one.undo !== null) assert.match(one.undo, /\.$/)
    })
  }
})

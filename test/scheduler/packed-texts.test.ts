import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PackedTexts } from '../../src/scheduler/packed-texts.ts'

it('returns every text unchanged, across buffers and beyond their size', () => {
  const store = new PackedTexts()
  const texts = [
    '',
    'plain',
    'Zoë 🚀',
    'x'.repeat(3 << 20),
    ...Array.from({ length: 5_000 }, (_, i) => `{"n":"${'ä'.repeat(i % 700)}${i}"}`),
  ]
  const places = texts.map((text) => store.add(text))
  assert.deepEqual(
    places,
    texts.map((_, index) => index),
  )
  for (const [text, index] of places.entries()) assert.equal(store.get(index), texts[text])
  assert.throws(() => store.get(-1), /The store has no text -1/)
})

it('reports that it is full', () => {
  const store = new PackedTexts()
  const large = 'x'.repeat(1 << 20)
  let index = 0
  for (let added = 0; added < 256; added += 1) index = store.add(large)
  assert.equal(index, 255)
  assert.equal(store.add('one more'), PackedTexts.FULL)
})

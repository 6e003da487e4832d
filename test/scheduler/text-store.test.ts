import assert from 'node:assert/strict'
import { it } from 'node:test'
import { TextStore } from '../../src/scheduler/text-store.ts'

it('gives back every text as it was, across the ends of its buffers and beyond their size', () => {
  const store = new TextStore()
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
    texts.map((_, place) => place),
  )
  for (const [index, place] of places.entries()) assert.equal(store.get(place), texts[index])
  assert.throws(() => store.get(-1), /no text at -1/)
})

it('says when there is no more room', () => {
  const store = new TextStore()
  const large = 'x'.repeat(1 << 20)
  let place = 0
  for (let added = 0; added < 256; added += 1) place = store.add(large)
  assert.equal(place, 255)
  assert.equal(store.add('one more'), TextStore.FULL)
})

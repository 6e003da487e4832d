import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openScreen } from '../../../src/cli/terminal/screen.ts'

function terminal() {
  let text = ''
  return {
    isTTY: true,
    columns: 80,
    rows: 24,
    write: (more: string) => {
      text += more
    },
    /** What was written since the last look, escapes as words. */
    look: () => {
      const seen = text
      text = ''
      return seen.replaceAll('\u001b[', '^')
    },
  }
}

describe('the screen', () => {
  it('is not there without a terminal', () => {
    assert.equal(openScreen({ write: () => {} }), null)
  })

  it('redraws in place, clears what is left below, and restores the cursor', () => {
    const on = terminal()
    const screen = openScreen(on)!
    screen.draw(['a', 'b'])
    assert.equal(on.look(), '^?25l^2Ka\n^2Kb\n^0J')
    screen.draw(['c'])
    assert.equal(on.look(), '^?25l^2A\r^2Kc\n^0J')
    screen.end()
    assert.equal(on.look(), '^?25h')
    screen.end()
    assert.equal(on.look(), '')
  })

  it('clears everything when the width has changed', () => {
    const on = terminal()
    const screen = openScreen(on)!
    screen.draw(['a'])
    on.look()
    on.columns = 60
    assert.equal(screen.width, 60)
    screen.draw(['b'])
    assert.equal(on.look(), '^?25l^2J^H^2Kb\n^0J')
  })
})

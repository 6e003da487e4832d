// The browser of the tests can find what it is there to find. Without a font, for example, no text would have too little contrast.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { accessibilityProblems, openBrowser, openPage } from '../../kit/browser.ts'

const page = (body: string) =>
  `<!doctype html><html lang="en"><head><title>Page</title></head><body><main>${body}</main></body></html>`

it('the browser of the tests finds bad contrast, broken scripts and requests to elsewhere', async () => {
  const browser = await openBrowser()
  try {
    const good = await openPage(browser)
    await good.page.setContent(page('<h1>Waves</h1><p>Legible</p>'))
    assert.deepEqual(await accessibilityProblems(good.page), [])
    assert.deepEqual(good.faults, [])
    const bad = await openPage(browser)
    await bad.page.setContent(
      page(
        '<h1>Waves</h1><p style="color:#aaa">Faint</p><script src="https://elsewhere.example/a.js"></script><script>gone()</script>',
      ),
    )
    const problems = await accessibilityProblems(bad.page)
    assert.deepEqual(
      problems.map((one) => one.split(':')[0]),
      ['color-contrast'],
    )
    const faults = bad.faults.join('\n')
    assert.match(faults, /request to https:\/\/elsewhere\.example\/a\.js/)
    assert.match(faults, /gone is not defined/)
  } finally {
    await browser.close()
  }
})

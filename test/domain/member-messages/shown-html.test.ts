// What a preview shows of a message's HTML: structure and text, never anything that runs, loads or leads elsewhere.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { shownHtml } from '../../../src/domain/member-messages/shown-html.ts'

it('keeps structure and text', () => {
  const html = '<h1>Hello</h1><p>A &amp; B<br>C</p><ul><li>one</li></ul>'
  assert.equal(shownHtml(html), html)
  assert.equal(shownHtml('1 < 2 > 0'), '1 &lt; 2 &gt; 0')
})

it('leaves out every attribute, and tags that it does not know', () => {
  assert.equal(
    shownHtml('<p style="x" onclick=alert(1)>a</p><a href="javascript:alert(1)">b</a>'),
    '<p>a</p>b',
  )
  assert.equal(shownHtml('<img src=x onerror=alert(1)>c<form action=x><input></form>'), 'c')
  assert.equal(shownHtml('<!-- x --><meta http-equiv=refresh content=0>d<base href=x>'), 'd')
})

it('leaves out what runs, however it is written', () => {
  for (const html of [
    '<script>alert(1)</script>',
    '<SCRIPT src=x>alert(1)</sCript >',
    '<script>alert(1)',
    '<svg onload=alert(1)><script>alert(1)</script></svg>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '<style>p{background:url(x)}</style>',
    '<!--<script>alert(1)</script>',
  ])
    assert.doesNotMatch(shownHtml(html), /<(?!\/?(p|br)>)/, html)
  assert.doesNotMatch(shownHtml('<scr<script>x</script>ipt>alert(1)</scr'), /<s/i)
  assert.doesNotMatch(shownHtml('<p/onclick=alert(1)>x'), /onclick/)
})

it('ends soon for a text of nothing but beginnings of tags', () => {
  for (const part of ['<a', '<a ', '<!-', '</', '<a/', '&lt', '\n '])
    assert.ok(shownHtml(part.repeat(100_000)).length >= part.length, part)
})

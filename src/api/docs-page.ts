// The API documentation as one HTML page, generated from the OpenAPI document: no script, nothing loaded from elsewhere.
import { createHash } from 'node:crypto'
import type { Json } from '../base/text/json.ts'
import { type Html, html, htmlText } from '../base/text/markup.ts'

type Node = { readonly [key: string]: Json }

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
details { border: 1px solid #d0d0d0; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
summary b { display: inline-block; width: 4.5rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: #f5f5f5; padding: .8rem; overflow: auto; max-height: 28rem; border-radius: 4px; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; border-top: 1px solid #e4e4e4; padding: .25rem .5rem .25rem 0; }
@media (prefers-color-scheme: dark) {
  body { background: #191919; color: #e8e8e8; } pre { background: #262626; } details, td, th { border-color: #444; }
}
`

/** Allows the style above and nothing else. */
export const DOCS_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256')
  .update(STYLE)
  .digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const text = (value: Json | undefined): string => String(value ?? '')

export function docsPage(document: Node): string {
  const info = document.info as Node
  const operations = Object.entries(document.paths as Node).flatMap(([path, methods]) =>
    Object.entries(methods as Node).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as Node,
    })),
  )
  const byTag = Map.groupBy(operations, ({ operation }) => String((operation.tags as Json[])[0]))
  const sections = [...byTag].map(
    ([tag, all]) =>
      html`<h2>${tag}</h2>${all.map((one) => section(one.path, one.method, one.operation))}
`,
  )
  const schemas = (document.components as Node).schemas as Node
  const shapes = Object.entries(schemas).map(
    ([name, schema]) =>
      html`<details id="${name}"><summary>${name}</summary>${listing(schema)}</details>`,
  )
  return htmlText(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${text(info.title)}</title><style>${{ html: STYLE }}</style></head>
<body><h1>${text(info.title)} ${text(info.version)}</h1><p>${text(info.description)}
For programs: <a href="/api/openapi.json">openapi.json</a>.</p>
${sections}<h2>Shapes</h2>${shapes}</body></html>
`)
}

function section(path: string, method: string, operation: Node): Html {
  const parameters = (operation.parameters ?? []) as Node[]
  const rows = parameters.map(
    (one) =>
      html`<tr><td><code>${text(one.name)}</code></td><td>${text(one.in)}${one.required ? ', required' : ''}</td><td>${text(one.description)}</td></tr>`,
  )
  const content = (operation.requestBody as Node | undefined)?.content as Node | undefined
  const bodies = Object.entries(content ?? {}).map(
    ([type, media]) => html`<h4>Body: ${type}</h4>${listing((media as Node).schema!)}`,
  )
  const answers = Object.entries(operation.responses as Node).map(([status, answer]) => {
    const [shape] = Object.values(((answer as Node).content ?? {}) as Node) as Node[]
    const shown = Number(status) >= 400 || !shape ? null : listing(shape.schema!)
    return html`<tr><td>${status}</td><td>${text((answer as Node).description)}</td><td>${shown}</td></tr>`
  })
  return html`<details><summary><b>${method}</b> <code>${path}</code> – ${text(operation.summary)}</summary>
<p>${text(operation.description)}</p>${rows.length > 0 ? html`<table>${rows}</table>` : null}
${bodies}<h4>Answers</h4><table>${answers}</table></details>`
}

function listing(schema: Json): Html {
  const reference = (schema as Node).$ref
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1)
    return html`<a href="#${name}">${name}</a>`
  }
  return html`<pre>${JSON.stringify(schema, null, 2)}</pre>`
}

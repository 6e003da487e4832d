// The cells of the heat map: what each letter of the grid means, with a sign and a colour. The colour is never the only difference.
export interface Cell {
  readonly name: string
  readonly sign: string
  readonly look: string
}

export const CELLS: Readonly<Record<string, Cell>> = {
  s: { name: 'succeeded', sign: '✓', look: 'good' },
  d: { name: 'running', sign: '▶', look: 'busy' },
  p: { name: 'polling', sign: '↻', look: 'busy' },
  w: { name: 'waiting', sign: '○', look: 'idle' },
  f: { name: 'failed', sign: '✕', look: 'bad' },
  t: { name: 'poll timeout', sign: '!', look: 'bad' },
  u: { name: 'taken back', sign: '↶', look: 'off' },
  r: { name: 'rolled back', sign: '↶', look: 'warn' },
  k: { name: 'skipped', sign: '–', look: 'off' },
  c: { name: 'cancelled', sign: '/', look: 'off' },
  '.': { name: 'to come', sign: '·', look: 'none' },
}

export const cellOf = (letter: string | undefined): Cell => CELLS[letter ?? '.'] ?? CELLS['.']!

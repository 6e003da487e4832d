// Small signs in the colour of their text. Drawn, not typed: fonts of servers and wallboards lack such letters.
const PATHS: Readonly<Record<string, string>> = {
  '✓': 'M2 6.5 4.8 9 10 3',
  '✕': 'M3 3l6 6M9 3 3 9',
  '▶': 'M4 2.5v7l5-3.5z',
  '○': 'M6 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  '⏸': 'M4 2.5v7M8 2.5v7',
  '!': 'M6 2v5M6 9.4v.6',
  '↻': 'M9.5 4.5A4 4 0 1 0 10 7M9.8 2v2.6H7.2',
  '?': 'M4 4.5a2 2 0 1 1 2.6 2c-.5.3-.6.6-.6 1.2M6 10v.3',
  '–': 'M3 6h6',
  '↶': 'M5 2 2 5l3 3M2 5h5a3 3 0 0 1 0 5H5',
  '/': 'M3 9 9 3',
  '·': 'M6 6v.1',
  '⚑': 'M3.5 10.5V2h5.5L7.5 4.2 9 6.5H3.5',
}

/** The drawing of a letter; a short line for one that has none. */
export const Sign = ({ sign }: { readonly sign: string }) => (
  <svg className="sign" viewBox="0 0 12 12" aria-hidden="true" focusable="false">
    <path d={PATHS[sign] ?? PATHS['–']!} />
  </svg>
)

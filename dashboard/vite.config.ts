// How the dashboard is built: into dist/, with relative addresses, so that it works under any path.
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // An inlined file would be a data: address, which the content security policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The notices that the licences ask for, and the list of what the bundle contains (scripts/sbom.ts).
    license: { fileName: 'licenses.json' },
    rolldownOptions: {
      // Directives for servers that render React; this page has none.
      onwarn: (warning, warn) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && warn(warning),
    },
  },
})

// The parts of ECharts that the site's charts use, and nothing else: lines and points on a grid, with the
// canvas renderer. HTML tooltips and the SVG renderer are left out: they need inline styles, which the
// site's Content-Security-Policy forbids.
import { init, use } from 'echarts/core';
import { LineChart } from 'echarts/charts';
import { GridComponent, LegendScrollComponent, MarkAreaComponent, TooltipComponent } from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';

use([CanvasRenderer, GridComponent, LegendScrollComponent, LineChart, MarkAreaComponent, TooltipComponent]);

export { init };

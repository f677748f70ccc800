//! The window. Only the package in the folder of this name builds this file.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use vsla::device::wgpu::{self, CurrentSurfaceTexture as Next};
use winit::application::ApplicationHandler;
use winit::dpi::LogicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

use crate::shared::Shared;
use crate::source::Source;
use crate::view::{Frame, HEIGHT, WIDTH};
use crate::{Failure, Scope};

/// The most time from one frame to the next. On a device that needs longer, the sound goes by slower.
const LONGEST: Duration = Duration::from_millis(100);

/// Shows the sound until the window is closed.
pub fn run(source: Source, rate: u32, adapter: Option<String>) -> Result<String, Failure> {
    let events = EventLoop::new().map_err(|error| Failure::Window(error.to_string()))?;
    let mut app = App {
        source: Some(source),
        rate,
        adapter,
        open: None,
        failure: None,
    };
    let closed = events.run_app(&mut app);
    closed.map_err(|error| Failure::Window(error.to_string()))?;
    app.failure.map_or(Ok(String::new()), Err)
}

struct App {
    /// Taken by the window.
    source: Option<Source>,
    rate: u32,
    adapter: Option<String>,
    open: Option<Open>,
    failure: Option<Failure>,
}

impl App {
    /// Ends the program if this failed.
    fn check(&mut self, events: &ActiveEventLoop, done: Result<(), Failure>) {
        if let Err(failure) = done {
            self.failure = Some(failure);
            events.exit();
        }
    }
}

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if let Some(source) = self.source.take() {
            let open = Open::new(events, source, self.rate, self.adapter.as_deref());
            let opened = open.map(|open| self.open = Some(open));
            self.check(events, opened);
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.open else {
            return;
        };
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(size) => open.resize([size.width, size.height]),
            WindowEvent::RedrawRequested => {
                let drawn = open.draw();
                self.check(events, drawn);
            }
            _ => {}
        }
    }
}

/// A window, its surface, and what it shows.
struct Open {
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    shared: Shared,
    scope: Scope,
    /// Seconds of the sound that went by, and when the last of them did.
    heard: f64,
    last: Instant,
}

impl Open {
    fn new(
        events: &ActiveEventLoop,
        source: Source,
        rate: u32,
        adapter: Option<&str>,
    ) -> Result<Open, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Window(error.to_string());
        let attributes = Window::default_attributes()
            .with_title("scope")
            .with_inner_size(LogicalSize::new(WIDTH, HEIGHT));
        let window = events
            .create_window(attributes)
            .map_err(|error| failed(&error))?;
        let window = Arc::new(window);
        let display = Box::new(events.owned_display_handle());
        let descriptor = wgpu::InstanceDescriptor::new_with_display_handle_from_env(display);
        let instance = wgpu::Instance::new(descriptor);
        let surface = instance
            .create_surface(window.clone())
            .map_err(|error| failed(&error))?;
        let shared = pollster::block_on(Shared::open(&instance, Some(&surface), adapter))?;
        let size = window.inner_size();
        let config =
            surface.get_default_config(&shared.adapter, size.width.max(1), size.height.max(1));
        let mut config = config.ok_or_else(|| failed(&"the adapter cannot draw to it"))?;
        // The shader's colours are in sRGB already.
        let formats = surface.get_capabilities(&shared.adapter).formats;
        if let Some(format) = formats.iter().find(|format| !format.is_srgb()) {
            config.format = *format;
        }
        config.present_mode = wgpu::PresentMode::AutoVsync;
        surface.configure(&shared.gpu, &config);
        let scope = Scope::new(&shared, source, rate, config.format)?;
        window.request_redraw();
        Ok(Open {
            window,
            surface,
            config,
            shared,
            scope,
            heard: 0.0,
            last: Instant::now(),
        })
    }

    fn resize(&mut self, [width, height]: [u32; 2]) {
        // A minimized window has no pixels.
        if width > 0 && height > 0 {
            (self.config.width, self.config.height) = (width, height);
            self.surface.configure(&self.shared.gpu, &self.config);
            self.window.request_redraw();
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        match self.surface.get_current_texture() {
            Next::Success(texture) | Next::Suboptimal(texture) => {
                let frame = Frame {
                    size: [self.config.width, self.config.height],
                    scale: self.window.scale_factor() as f32,
                };
                self.heard += self.last.elapsed().min(LONGEST).as_secs_f64();
                self.last = Instant::now();
                let target = texture
                    .texture
                    .create_view(&wgpu::TextureViewDescriptor::default());
                self.scope.frame(&self.shared, &target, frame, self.heard)?;
                self.window.pre_present_notify();
                self.shared.queue.present(texture);
            }
            Next::Outdated | Next::Lost => {
                self.surface.configure(&self.shared.gpu, &self.config);
            }
            // Nobody sees the window.
            Next::Timeout | Next::Occluded | Next::Validation => thread::sleep(LONGEST),
        }
        self.window.request_redraw();
        Ok(())
    }
}
